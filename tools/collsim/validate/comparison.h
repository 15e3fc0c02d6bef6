#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/validation/score.h"
#include "tools/collsim/crossover/crossover_point.h"

namespace collsim {

/// Two forced ways that differ in the algorithm or in the protocol alone.
struct ComparisonPair {
  std::string first;   ///< "ring/ll"
  std::string second;  ///< "ring/simple"
  std::size_t sizes = 0;
  Crossover measured;
  Crossover predicted;
  std::optional<Crossover> nccl;  ///< by NCCL's estimates
};

/// All ways of running one collective that were forced on the same ranks.
struct Comparison {
  ValidationFamily family;  ///< its algorithm and protocol are empty
  std::vector<ComparisonPair> pairs;
  Regret ours;  ///< of the way that we predict to be fastest
  Regret nccl;  ///< of the way that NCCL's estimates say is fastest
};
/// Compares the rows with forced algorithm and protocol. In and out of place count as one: the
/// mean.
std::vector<Comparison> comparisons(const std::vector<ValidatedRow>& rows);

}  // namespace collsim
