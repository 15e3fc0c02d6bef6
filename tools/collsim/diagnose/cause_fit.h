#pragma once

#include <cstdint>
#include <vector>

#include "tools/collsim/diagnose/fitted_cause.h"
#include "tools/collsim/diagnose/spread.h"

namespace collsim {

/// How much work fitting may be.
struct FitEffort {
  std::size_t max = 24;                ///< causes that are simulated: those that estimates favour
  std::uint64_t messages = 2'000'000;  ///< of all simulations together; after these none begins
  /// Causes that are simulated at more sizes; the first of all even after the messages.
  std::size_t finely = 6;
  std::uint64_t of_one = 60'000;  ///< of one cause with one value; but for three sizes
};

/// Adds causes until there are `most`: of those in several places, or that are simulated alike, the
/// first.
void add_distinct(const std::vector<FittedCause>& causes, std::size_t most,
                  std::vector<const FittedCause*>& distinct);

/// Fits every cause to the points: first by estimates, times what the simulation of the healthy
/// machine is off by; then the likeliest by simulation. Causes that the machine cannot have, or
/// under which a call never ends, are left out. The likeliest first.
std::vector<FittedCause> fit_causes(const LogPredictor& predictor,
                                    const std::vector<Hypothesis>& hypotheses,
                                    const std::vector<PointIndex>& points, const Spread& spread,
                                    const FitEffort& effort = {});

}  // namespace collsim
