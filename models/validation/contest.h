#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/validation/score.h"

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

/// Two forced ways that differ in the algorithm or in the protocol alone.
struct ContestPair {
  std::string first;   ///< "ring/ll"
  std::string second;  ///< "ring/simple"
  std::size_t sizes = 0;
  Crossover measured;
  Crossover predicted;
  std::optional<Crossover> nccl;  ///< by NCCL's estimates
};

/// Time that a choice loses to the best that was measured, relative to it: 0 where it was the best.
struct Regret {
  std::size_t sizes = 0;
  double mean = 0;
  double worst = 0;
  std::size_t best = 0;  ///< sizes at which it was the best
};

/// All ways of running one collective that were forced on the same ranks.
struct Contest {
  ValidationFamily family;  ///< its algorithm and protocol are empty
  std::vector<ContestPair> pairs;
  Regret ours;  ///< of the way that we predict to be fastest
  Regret nccl;  ///< of the way that NCCL's estimates say is fastest
};
/// Of the rows with forced algorithm and protocol. In and out of place count as one: the mean.
std::vector<Contest> contests(const std::vector<ValidatedRow>& rows);

}  // namespace collsim
