#include "tools/collsim/core/old_spellings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/input_error.h"

namespace collsim::command {

namespace {

/// What a question was written as, and is written as now.
struct OldSpelling {
  std::string_view command;
  std::string_view option;  ///< empty: the command whatever its options
  std::string_view instead;
};

/// The first row that fits says what is written instead.
constexpr auto old_commands = std::to_array<OldSpelling>({
    {"step", "--decode", "collsim serve MACHINE --model NAME"},
    {"step", "--prefill", "collsim serve MACHINE --model NAME --prefill"},
    {"step", "--check", "collsim check PROGRAM.yaml"},
    {"step", "", "collsim train"},
    {"exchange", "", "collsim moe"},
});

constexpr auto old_options = std::to_array<OldSpelling>({
    {"run", "--sliders", "collsim crossover --html FILE, or collsim in a browser"},
    {"train", "--decode", "collsim serve MACHINE --model NAME"},
    {"train", "--prefill", "collsim serve MACHINE --model NAME --prefill"},
    {"train", "--check", "collsim check PROGRAM.yaml"},
    {"train", "--keep", "--no-reshard"},
    {"serve", "--decode", "collsim serve without it"},
    {"plan", "--step", "collsim plan train MACHINE"},
    {"plan", "--decode", "collsim plan serve MACHINE"},
    {"plan", "--exchange", "collsim plan moe MACHINE"},
    {"topo show", "--matrix", "--pairs"},
    {"replay", "--trace", "the name of the trace alone"},
});

}  // namespace

void refuse_old_command(std::span<const std::string> args) {
  for (const OldSpelling& old : old_commands) {
    const bool is_asked =
        old.option.empty() || std::find(args.begin(), args.end(), old.option) != args.end();
    if (old.command != args.front() || !is_asked) continue;
    throw InputError(fmt::format("'{}' is the old name of a command", old.command),
                     std::string(old.instead));
  }
}

void refuse_old_options(std::string_view command, std::span<const std::string> args) {
  for (const std::string& arg : args) {
    for (const OldSpelling& old : old_options) {
      if (old.command != command || old.option != arg.substr(0, arg.find('='))) continue;
      throw InputError(fmt::format("{} is an old option of {}", old.option, command),
                       std::string(old.instead));
    }
  }
}

}  // namespace collsim::command
