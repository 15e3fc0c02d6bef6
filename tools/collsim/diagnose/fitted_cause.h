#pragma once

#include <map>
#include <memory>
#include <vector>

#include "tools/collsim/diagnose/log_predictor.h"

namespace collsim {

/// What a cause predicts by the value of its parameter, estimated at some values.
class ValueCurve {
 public:
  /// `is_share`: whether values are shares of a rate.
  explicit ValueCurve(bool is_share) : is_share_(is_share) {}
  void add(double value, PointPredictions predicted) {
    known_.insert_or_assign(value, std::move(predicted));
  }
  const std::map<double, PointPredictions>& known() const { return known_; }
  /// Between known values, and beyond them, times are linear: in a latency, and in the inverse of a
  /// share of a rate. Logarithms of seconds. Some value must be known.
  std::vector<double> log_times(double value) const;
  /// Values at which to look for the best one: the known ones and `between` others after each, up
  /// to twice as far as is known, from `least` to `most`. Rising.
  std::vector<double> grid(double least, double most, int between) const;

 private:
  bool is_share_;
  std::map<double, PointPredictions> known_;
};

/// A cause that leaves so much of the times does not explain them.
inline constexpr double unexplained_residual = 0.12;

/// A cause with the value of its parameter that fits a log best.
struct FittedCause {
  Hypothesis hypothesis;
  double value = 0;            ///< of its parameter, if it has one
  PointPredictions predicted;  ///< for the points that were fitted to
  double log_likelihood = 0;
  double residual = 0;                  ///< what it leaves of the times (misfit_of())
  bool simulated = false;               ///< else estimated
  std::shared_ptr<ValueCurve> curve{};  ///< of the estimates of its values
  double likelihood = 0;  ///< among all causes and what is none of them: its share of its group
};

/// The logarithm of how likely a cause is by what the log says beside its times, and by its value.
double prior_of(const FittedCause& cause);

/// What causes are sorted by: the likelihood, the cause's weight, and less for a fitted value.
double score_of(const FittedCause& cause);

/// How likely something unknown acts beside the cause, as a share of the cause's own likelihood:
/// the more the cause leaves of the times, and as likely as the cause alone from 30 % on.
double share_of_unknown(const FittedCause& cause);

/// The root mean square of log(measured / predicted) without the quarter that is farthest off
/// (one_far_off_in), so that single times that were disturbed do not count.
double misfit_of(const std::vector<double>& residuals);

/// Whether two causes predict the same for every size, so that the log cannot tell them apart.
bool predict_the_same(const FittedCause& a, const FittedCause& b);

/// Sorts causes by their scores, the likeliest first.
void sort_by_score(std::vector<FittedCause>& causes);

}  // namespace collsim
