#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/nccl/settings/function.h"
#include "models/nccl/tuning/reduction.h"
#include "sim/algorithms/registry.h"
#include "sim/base/data_directory.h"
#include "tools/collsim/core/help.h"
#include "tools/collsim/core/subcommand.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim::command {

namespace {

using Words = std::vector<std::string>;

Words machine_names() {
  return shipped_names("topologies");
}

Words machine_and_scenario_names() {
  Words names = machine_names();
  for (std::string& name : shipped_names("scenarios")) names.push_back(std::move(name));
  return names;
}

Words collective_names() {
  Words names;
  for (const Collective each : all_collectives()) names.emplace_back(to_string(each));
  return names;
}

Words algorithm_names() {
  Words names;
  for (const NcclAlgorithm each : all_nccl_algorithms) names.emplace_back(to_string(each));
  for (const Algorithm& each : algorithms()) names.emplace_back(each.name);
  return names;
}

Words datatype_names() {
  Words names;
  constexpr auto last = static_cast<int>(Datatype::float8_e5m2);
  for (int each = 0; each <= last; ++each)
    names.emplace_back(to_string(static_cast<Datatype>(each)));
  return names;
}

Words model_names() {
  Words names;
  for (const Transformer& each : load_transformers()) names.push_back(each.name);
  for (const CountedModel& each : load_counted_models()) names.push_back(each.name);
  return names;
}

struct NamedValues {
  std::string_view option;
  Words (*names)();
};

/// Options whose values are names. Others take words that their syntax shows, a number, or a file.
constexpr std::array named_values{
    NamedValues{"topology", machine_names},
    NamedValues{"scenario", machine_and_scenario_names},
    NamedValues{"subject", machine_names},
    NamedValues{"collective", collective_names},
    NamedValues{"algorithm", algorithm_names},
    NamedValues{"model", model_names},
    NamedValues{"node", [] { return shipped_names("topologies/nodes"); }},
    NamedValues{"fabric", [] { return shipped_names("topologies/fabrics"); }},
    NamedValues{"calibration", [] { return shipped_names("models/data/calibrations"); }},
    NamedValues{"datatype", datatype_names},
};

std::optional<Words> values_of(const TakenOption& taken) {
  for (const NamedValues& each : named_values) {
    if (each.option == taken.option->name) return each.names();
  }
  Words words = taken.value.words();
  if (words.empty()) return std::nullopt;
  return words;
}

using Options = std::vector<TakenOption>;

const TakenOption* find_option(const Options& options, std::string_view word) {
  for (const TakenOption& each : options) {
    if (word == "--" + each.option->name || (!each.letter.empty() && word == "-" + each.letter))
      return &each;
  }
  return nullptr;
}

/// Prints the words that begin as the last one does. Of a list, "ring,tr", the last name counts.
void print_matching(Words words, std::string_view begun, std::string_view before,
                    std::ostream& out) {
  const std::size_t comma = begun.rfind(',');
  const std::string listed(comma == std::string_view::npos ? "" : begun.substr(0, comma + 1));
  const std::string_view last = begun.substr(listed.size());
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  for (const std::string& word : words) {
    if (word.starts_with(last)) out << before << listed << word << '\n';
  }
}

void print_values(const TakenOption& option, std::string_view begun, std::string_view before,
                  std::ostream& out) {
  const std::optional<Words> values = values_of(option);
  if (values) print_matching(*values, begun, before, out);
  const bool is_path = begun.find('/') != std::string_view::npos || begun.starts_with('.');
  if (!values || is_path) out << ":files\n";
}

/// The subcommand of those words, and how many of them name it: two of `topo show`.
std::pair<const Subcommand*, std::size_t> find_named(std::span<const std::string> words) {
  const Subcommand* const subcommand = find_subcommand(subcommands(), words.front());
  if (subcommand == nullptr || subcommand->actions == nullptr || words.size() < 3) {
    return {subcommand, 1};
  }
  const Subcommand* const action = find_subcommand(subcommand->actions(), words[1]);
  return action == nullptr ? std::pair{subcommand, std::size_t{1}}
                           : std::pair{action, std::size_t{2}};
}

void print_names(Subcommands all, std::string_view begun, std::ostream& out) {
  Words names;
  for (const Subcommand& each : all) names.emplace_back(each.last_word());
  print_matching(std::move(names), begun, "", out);
}

Options ungrouped(const Subcommand& subcommand) {
  Options all;
  for (TakenGroup& group : options_of(subcommand)) {
    all.insert(all.end(), group.options.begin(), group.options.end());
  }
  return all;
}

void print_options_or_files(const Options& options, const std::string& argument,
                            std::string_view begun, std::ostream& out) {
  if (begun.starts_with('-')) {
    Words names;
    for (const TakenOption& each : options) names.push_back("--" + each.option->name);
    print_matching(std::move(names), begun, "", out);
    return;
  }
  const TakenOption* const positional = find_option(options, "--" + argument);
  if (positional != nullptr) print_values(*positional, begun, "", out);
}

}  // namespace

int run_complete(std::span<const std::string> args, std::ostream& out, std::ostream& /*err*/) {
  // Bash makes three words of --format=json.
  Words words;
  std::copy_if(args.begin(), args.end(), std::back_inserter(words),
               [](const std::string& word) { return word != "="; });
  if (words.size() < 2) {
    print_names(subcommands(), words.empty() ? "" : words.front(), out);
    return exit_ok;
  }
  const auto [subcommand, named] = find_named(words);
  if (subcommand == nullptr) return exit_ok;
  const std::string& begun = words.back();
  if (subcommand->actions != nullptr && words.size() == 2 && !begun.starts_with('-')) {
    print_names(subcommand->actions(), begun, out);
    if (subcommand->argument.empty()) return exit_ok;
  }
  const Options options = ungrouped(*subcommand);
  const std::size_t equals = begun.find('=');
  if (begun.starts_with("--") && equals != std::string::npos) {
    const TakenOption* const option = find_option(options, begun.substr(0, equals));
    if (option != nullptr) {
      print_values(*option, begun.substr(equals + 1), begun.substr(0, equals + 1), out);
    }
    return exit_ok;
  }
  const TakenOption* const before =
      words.size() > named + 1 ? find_option(options, words[words.size() - 2]) : nullptr;
  if (before != nullptr && !before->value.shown.empty()) {
    print_values(*before, begun, "", out);
  } else {
    print_options_or_files(options, subcommand->argument, begun, out);
  }
  return exit_ok;
}

}  // namespace collsim::command
