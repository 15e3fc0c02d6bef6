#pragma once

#include <vector>

#include "tools/collsim/diagnose/log_predictor.h"

namespace collsim {

/// A cause with the value of its parameter that fits a log best.
struct FittedCause {
  Hypothesis hypothesis;
  double value = 0;            ///< of its parameter, if it has one
  PointPredictions predicted;  ///< for the points that were fitted to
  double log_likelihood = 0;
  double residual = 0;     ///< what it leaves of the times (misfit_of())
  bool simulated = false;  ///< else estimated
  double likelihood = 0;   ///< among all causes and what is none of them: its share of its group
};

/// The logarithm of how likely a cause is by what the log says beside its times, and by its value.
double prior_of(const FittedCause& cause);

/// What causes are sorted by: the likelihood, the cause's weight, and less for a fitted value.
double score_of(const FittedCause& cause);

/// The score of the cause together with something unknown: the more the cause leaves of the times,
/// the likelier that is, and as likely as the cause alone from 30 % on.
double score_with_unknown(const FittedCause& cause);

/// The root mean square of log(measured / predicted) without the quarter that is farthest off
/// (one_far_off_in), so that single times that were disturbed do not count.
double misfit_of(const std::vector<double>& residuals);

/// Whether two causes predict the same for every size, so that the log cannot tell them apart.
bool predict_the_same(const FittedCause& a, const FittedCause& b);

/// Sorts causes by their scores, the likeliest first.
void sort_by_score(std::vector<FittedCause>& causes);

}  // namespace collsim
