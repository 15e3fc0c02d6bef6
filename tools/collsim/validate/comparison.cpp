#include "tools/collsim/validate/comparison.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace collsim {

namespace {

/// Algorithm and protocol.
using Way = std::pair<std::string, std::string>;

/// Of one way at one size; sums of `rows` rows.
struct Times {
  double measured = 0;
  double predicted = 0;
  double nccl = 0;  ///< infinite where NCCL has no estimate
  int rows = 0;
};

using TimesBySize = std::map<Bytes, Times>;
using Ways = std::map<Way, TimesBySize>;

bool is_forced(const RecordedRow& row) {
  return row.variables.contains("NCCL_ALGO") && row.variables.contains("NCCL_PROTO");
}

void add(Times& times, const ValidatedRow& row) {
  times.measured += row.recorded.time.value;
  times.predicted += row.predicted.value;
  times.nccl +=
      row.nccl_estimate ? row.nccl_estimate->value : std::numeric_limits<double>::infinity();
  ++times.rows;
}

/// A time that was measured or computed, and not 0 for want of one.
bool is_time(Seconds time) {
  return std::isfinite(time.value) && time.value > 0;
}

/// Crossover of two by one of their times; nothing without any.
std::optional<Crossover> crossover_by(const TimesBySize& first, const TimesBySize& second,
                                      double Times::*time) {
  std::vector<TimePair> pairs;
  for (const auto& [size, a] : first) {
    const auto b = second.find(size);
    if (b == second.end()) continue;
    const Seconds of_first{a.*time / a.rows};
    const Seconds of_second{b->second.*time / b->second.rows};
    if (is_time(of_first) && is_time(of_second)) pairs.push_back({size, of_first, of_second});
  }
  if (pairs.empty()) return std::nullopt;
  return find_crossover(pairs);
}

std::size_t common_sizes(const TimesBySize& first, const TimesBySize& second) {
  std::size_t common = 0;
  for (const auto& entry : first) common += second.count(entry.first);
  return common;
}

std::vector<ComparisonPair> pairs_of(const Ways& ways) {
  std::vector<ComparisonPair> pairs;
  for (auto a = ways.begin(); a != ways.end(); ++a) {
    for (auto b = std::next(a); b != ways.end(); ++b) {
      const bool same_algorithm = a->first.first == b->first.first;
      const bool same_protocol = a->first.second == b->first.second;
      const std::size_t sizes = common_sizes(a->second, b->second);
      if (same_algorithm == same_protocol || sizes < 2) continue;
      const auto name = [](const Way& way) { return fmt::format("{}/{}", way.first, way.second); };
      const auto measured = crossover_by(a->second, b->second, &Times::measured);
      const auto predicted = crossover_by(a->second, b->second, &Times::predicted);
      if (!measured || !predicted) continue;
      pairs.push_back({name(a->first), name(b->first), sizes, *measured, *predicted,
                       crossover_by(a->second, b->second, &Times::nccl)});
    }
  }
  return pairs;
}

/// Of always taking the way whose `time` is least. Sizes with times of one way only, or without
/// that time, do not count.
Regret regret_by(const Ways& ways, double Times::*time) {
  std::map<Bytes, std::vector<Times>> by_size;
  for (const auto& [way, sizes] : ways) {
    for (const auto& [size, times] : sizes) by_size[size].push_back(times);
  }
  Regret regret;
  for (const auto& [size, candidates] : by_size) {
    double best = std::numeric_limits<double>::infinity();
    double least = std::numeric_limits<double>::infinity();
    double of_choice = 0;
    for (const Times& times : candidates) {
      best = std::min(best, times.measured / times.rows);
      if (!is_time(Seconds{times.*time}) || !(times.*time / times.rows < least)) continue;
      least = times.*time / times.rows;
      of_choice = times.measured / times.rows;
    }
    if (candidates.size() < 2 || !std::isfinite(least)) continue;
    const double lost = of_choice / best - 1;
    ++regret.sizes;
    regret.mean += lost;
    regret.worst = std::max(regret.worst, lost);
    if (lost <= 0) ++regret.best;
  }
  if (regret.sizes > 0) regret.mean /= static_cast<double>(regret.sizes);
  return regret;
}

}  // namespace

std::vector<Comparison> comparisons(const std::vector<ValidatedRow>& rows) {
  std::map<ValidationFamily, Ways> fields;
  for (const ValidatedRow& row : rows) {
    if (!is_forced(row.recorded)) continue;
    ValidationFamily family = family_of(row);
    const Way way{std::exchange(family.algorithm, {}), std::exchange(family.protocol, {})};
    add(fields[family][way][row.recorded.size], row);
  }
  std::vector<Comparison> comparisons;
  for (const auto& [family, ways] : fields) {
    if (ways.size() < 2) continue;
    comparisons.push_back({family, pairs_of(ways), regret_by(ways, &Times::predicted),
                           regret_by(ways, &Times::nccl)});
  }
  return comparisons;
}

}  // namespace collsim
