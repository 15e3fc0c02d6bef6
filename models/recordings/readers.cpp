#include "models/recordings/readers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>

#include "models/recordings/time_unit.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "sim/nccl/nccl_variable.h"

namespace collsim {

namespace {

template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  const auto number = parse_number<Number>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

/// The program of nccl-tests' whose name, without "_perf", ends a text as a word of its own:
/// "all_reduce" of "node7_all_reduce".
std::string_view known_benchmark(std::string_view text) {
  constexpr std::array<std::string_view, 11> longest_first{
      "reduce_scatter", "all_reduce", "all_gather", "alltoallv", "hypercube", "broadcast",
      "sendrecv",       "alltoall",   "scatter",    "gather",    "reduce"};
  for (const std::string_view name : longest_first) {
    if (!text.ends_with(name)) continue;
    const std::string_view before = text.substr(0, text.size() - name.size());
    const bool is_word = before.empty() || before.back() < 'a' || before.back() > 'z';
    if (is_word) return text.substr(before.size());
  }
  return {};
}

}  // namespace

std::string_view first_line(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::string_view said = trimmed(line, " \t");
    if (!said.empty() && said.front() != '#') return line;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

bool begins_with_object(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\n");
  return begin != std::string_view::npos && text[begin] == '{';
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  return read_number<std::int64_t>(text);
}

Rank rank_of(std::int64_t number) {
  return static_cast<Rank>(std::min<std::int64_t>(number, std::numeric_limits<Rank>::max()));
}

std::optional<double> decimal_number(std::string_view text) {
  const auto number = read_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

void set_time(RecordedRow& row, std::string_view text, double us) {
  row.time = microseconds(us);
  row.half_digit = microseconds(half_of_last_digit(text));
}

std::optional<Collective> find_recorded_collective(std::string_view name) {
  if (name == "alltoall" || name == uneven_exchange) return Collective::all_to_all;
  if (name == "sendrecv") return Collective::send_recv;
  return find_collective(name);
}

std::string benchmark_name(std::string_view text) {
  constexpr std::string_view suffix = "_perf";
  constexpr std::size_t longest = 64;
  std::string unknown;
  for (auto end = text.find(suffix); end != std::string_view::npos;
       end = text.find(suffix, end + 1)) {
    const std::string_view before = text.substr(0, end);
    if (const auto known = known_benchmark(before); !known.empty()) return std::string(known);
    if (!unknown.empty()) continue;
    // At most as long as such a name can be, so that a line of such words takes no longer.
    const std::string_view near = before.substr(before.size() - std::min(before.size(), longest));
    unknown = near.substr(near.find_last_not_of("abcdefghijklmnopqrstuvwxyz_") + 1);
  }
  return unknown;
}

void set_machines(const std::vector<MachineOfRows>& machines, const std::string& recording_file,
                  std::vector<RecordedRow>& rows) {
  const auto folder = std::filesystem::path(recording_file).parent_path();
  for (RecordedRow& row : rows) {
    const auto found =
        std::find_if(machines.begin(), machines.end(),
                     [&](const MachineOfRows& machine) { return matches(machine.ids, row.id); });
    if (found == machines.end()) continue;
    row.topology = (folder / found->topology).lexically_normal().string();
  }
}

bool changes_what_nccl_does(std::string_view variable) {
  return !variable.starts_with("NCCL_DEBUG") && is_nccl_setting(variable);
}

}  // namespace collsim
