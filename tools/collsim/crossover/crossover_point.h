#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"

namespace collsim {

/// The size at which two ways of running a collective cross over, among the sizes at which both
/// have times.
struct Crossover {
  bool first_before = true;    ///< the first of the two is faster at the smallest size
  bool first_after = true;     ///< ... and at the largest
  std::optional<double> size;  ///< bytes, where they cross over last; none if they never do
};

/// The times of both ways at one size.
struct TimePair {
  Bytes size;
  Seconds first;
  Seconds second;
};
/// Interpolates, between sizes, the logarithm of the ratio of the times linearly over the logarithm
/// of the size. `pairs` by rising size, not empty.
Crossover find_crossover(const std::vector<TimePair>& pairs);

/// The names of two ways in the order of sizes: "ring/ll < 96 KiB < ring/simple", "ring/ll always".
std::string to_string(const Crossover& crossover, std::string_view first, std::string_view second);

/// The time that a choice loses against the best, relative to the best: 0 if it was the best.
struct Regret {
  std::size_t sizes = 0;
  double mean = 0;
  double worst = 0;
  std::size_t best = 0;  ///< sizes at which it was the best
};

}  // namespace collsim
