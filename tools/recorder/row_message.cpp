#include "tools/recorder/row_message.h"

#include <limits>
#include <sstream>

namespace collsim::recorder {

namespace {

constexpr int no_channel = -1;
constexpr double no_estimate = -1;

}  // namespace

std::string row_message(std::size_t case_index, const Row& row) {
  const NcclChoice choice = row.choice.value_or(NcclChoice{});
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10);
  out << "row " << case_index << ' ' << choice.algorithm << ' ' << choice.protocol << ' '
      << choice.first_channel.value_or(no_channel) << ' '
      << choice.last_channel.value_or(no_channel) << ' ' << row.iterations << ' ' << row.repeats
      << ' ' << row.seconds.median << ' ' << row.seconds.min << ' ' << row.seconds.max << ' '
      << row.seconds.p99 << ' ' << row.slowest_rank_seconds << ' '
      << row.estimate_seconds.value_or(no_estimate) << ' ' << row.wrong << ' ' << choice.kernel;
  return out.str();
}

std::optional<std::pair<std::size_t, Row>> read_row_message(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::string key;
  std::size_t index = 0;
  Row row;
  NcclChoice choice;
  int first = no_channel;
  int last = no_channel;
  double estimate = no_estimate;
  in >> key >> index >> choice.algorithm >> choice.protocol >> first >> last >> row.iterations >>
      row.repeats >> row.seconds.median >> row.seconds.min >> row.seconds.max >> row.seconds.p99 >>
      row.slowest_rank_seconds >> estimate >> row.wrong >> choice.kernel;
  if (!in || key != "row") return std::nullopt;
  if (first != no_channel) choice.first_channel = first;
  if (last != no_channel) choice.last_channel = last;
  if (choice.algorithm != "none" || choice.kernel != "none") row.choice = choice;
  if (estimate != no_estimate) row.estimate_seconds = estimate;
  return std::pair{index, row};
}

}  // namespace collsim::recorder
