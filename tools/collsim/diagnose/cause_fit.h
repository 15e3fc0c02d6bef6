#pragma once

#include <cstdint>
#include <vector>

#include "tools/collsim/diagnose/fitted_cause.h"
#include "tools/collsim/diagnose/spread.h"

namespace collsim {

/// How much work fitting may be.
struct FitEffort {
  std::size_t max = 24;                 ///< causes that are simulated: those that estimates favour
  std::size_t first = 8;                ///< of them, that may take more messages
  std::uint64_t messages = 1'500'000;   ///< of all simulations together; after these none begins
  std::uint64_t for_first = 2'000'000;  ///< the same for the first ones
  std::size_t finely = 6;               ///< causes that are simulated at more sizes
  /// Up to so many ranks that is done, and the first of all is simulated even after the messages.
  Rank ranks_beyond = 256;
  std::uint64_t of_one = 60'000;  ///< of one cause with one value; but for three sizes
};

/// Fits every cause to the points: first by estimates, times what the simulation of the healthy
/// machine is off by; then the likeliest by simulation. Causes that the machine cannot have, or
/// under which a call never ends, are left out. The likeliest first.
std::vector<FittedCause> fit_causes(const LogPredictor& predictor,
                                    const std::vector<Hypothesis>& hypotheses,
                                    const std::vector<PointIndex>& points, const Spread& spread,
                                    const FitEffort& effort = {});

}  // namespace collsim
