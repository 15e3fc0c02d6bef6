#include "tools/collsim/crossover/crossover_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace collsim {

Crossover find_crossover(const std::vector<TimePair>& pairs) {
  assert(!pairs.empty());
  // Above 0 where the first is slower.
  const auto lead = [](const TimePair& pair) {
    return std::log(pair.first.value / pair.second.value);
  };
  Crossover crossover;
  crossover.first_before = lead(pairs.front()) <= 0;
  crossover.first_after = lead(pairs.back()) <= 0;
  for (std::size_t i = 1; i < pairs.size(); ++i) {
    const double before = lead(pairs[i - 1]);
    const double after = lead(pairs[i]);
    if ((before <= 0) == (after <= 0)) continue;
    const double low = std::log(std::max(static_cast<double>(pairs[i - 1].size.count), 1.0));
    const double high = std::log(std::max(static_cast<double>(pairs[i].size.count), 1.0));
    crossover.size = std::exp(low + (high - low) * before / (before - after));
  }
  return crossover;
}

std::string to_string(const Crossover& crossover, std::string_view first, std::string_view second) {
  const std::string_view before = crossover.first_before ? first : second;
  const std::string_view after = crossover.first_after ? first : second;
  if (!crossover.size) return fmt::format("{} always", before);
  if (before == after) {
    return fmt::format("{} at both ends, and from {} on", before, rounded_size(*crossover.size));
  }
  return fmt::format("{} < {} < {}", before, rounded_size(*crossover.size), after);
}

}  // namespace collsim
