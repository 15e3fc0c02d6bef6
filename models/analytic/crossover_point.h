#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/base/units.h"

namespace collsim {

/// Where one of two ways of running a collective stops being faster than the other, over the sizes
/// at which both have times.
struct Crossover {
  bool first_before = true;  ///< the first of the two is faster at the smallest size
  bool first_after = true;   ///< ... and at the largest
  std::optional<double>
      size;  ///< bytes: the last place where they change; none where they never do
};

/// Times of two, at one size.
struct TimePair {
  Bytes size;
  Seconds first;
  Seconds second;
};
/// Between sizes, times are taken to be straight lines over the logarithm of the size, in the
/// logarithm of their ratio. `pairs` by rising size, not empty.
Crossover find_crossover(const std::vector<TimePair>& pairs);

/// Time that a choice loses to the best that was measured, relative to it: 0 where it was the best.
struct Regret {
  std::size_t sizes = 0;
  double mean = 0;
  double worst = 0;
  std::size_t best = 0;  ///< sizes at which it was the best
};

}  // namespace collsim
