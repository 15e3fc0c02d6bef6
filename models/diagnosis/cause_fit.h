#pragma once

#include <optional>
#include <vector>

#include "models/diagnosis/predictor.h"

namespace collsim {

/// A cause with the value of its parameter that fits a log best.
struct FittedCause {
  Hypothesis hypothesis;
  double value = 0;            ///< of its parameter, if it has one
  PointPredictions predicted;  ///< for the points that were fitted to
  double log_likelihood = 0;
  double residual = 0;     ///< root mean square of log(measured / predicted)
  bool simulated = false;  ///< else estimated
  double likelihood = 0;   ///< among all causes and what is none of them: its share of its group
};

/// The logarithm of how likely a cause is by what the log says beside its times, and by its value.
double prior_of(const FittedCause& cause);

/// What causes are sorted by: the likelihood, the cause's weight, and less for a fitted value.
double score_of(const FittedCause& cause);

/// How much work fitting may be.
struct FitEffort {
  std::size_t max = 24;                 ///< causes that are simulated: those that estimates favour
  std::size_t first = 8;                ///< of them, that may take more messages
  std::uint64_t messages = 1'500'000;   ///< of all simulations, after which no more begin
  std::uint64_t for_first = 2'000'000;  ///< the same for the first ones
  std::uint64_t of_one = 60'000;        ///< of one cause with one value; but for three sizes
};

/// Fits every cause to the points: first by estimates, times what the simulation of the healthy
/// machine is off by; then the likeliest by simulation. Causes that the machine cannot have, or
/// under which a call never ends, are left out. The likeliest first.
std::vector<FittedCause> fit_causes(const Predictor& predictor,
                                    const std::vector<Hypothesis>& hypotheses,
                                    const std::vector<PointIndex>& points, const Spread& spread,
                                    const FitEffort& effort = {});

}  // namespace collsim
