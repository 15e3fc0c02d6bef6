#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tools/collsim/diagnose/fitted_cause.h"
#include "tools/collsim/diagnose/spread.h"

namespace collsim {

/// How likely residuals are if any slowness is, of near sizes alike: of a cause that is not known,
/// or not simulated well. As the logarithm of a density, beside log_likelihood().
double likelihood_of_any(const std::vector<double>& residuals, std::vector<ResidualPlace> places,
                         const Spread& spread);

/// Values of two causes at once, and how likely they are.
struct TwoValues {
  double one = 0;
  double other = 0;
  double log_likelihood = 0;
};

/// Points that are simulated, and for each point the place of the one among them that stands for
/// it.
struct PointChoice {
  std::vector<std::size_t> points;
  std::vector<std::size_t> stand_ins;
};

/// Fits the values of causes to the times of some points. Estimates are taken times what the
/// simulation of the healthy machine is off by.
class ValueFit {
 public:
  /// Refers to what it takes. `max_messages` are those of one simulation of a cause with one
  /// value; that of one that is among the likeliest may take four times as many.
  ValueFit(const LogPredictor& predictor, const std::vector<PointIndex>& points,
           const Spread& spread, std::uint64_t max_messages);

  const LogPredictor& predictor() const { return predictor_; }
  const std::vector<PointIndex>& points() const { return points_; }

  /// The misfit of the sizes that bandwidth bounds, or of all where there are none: smaller ones
  /// are predicted too badly to tell of a second cause.
  double large_residual(const FittedCause& cause) const;

  /// The fit for a cause that is simulated as another is.
  FittedCause taken_for(const FittedCause& fitted, const Hypothesis& hypothesis) const;

  /// Whether a cause leaves at most half of what the healthy machine leaves of the times.
  bool explains_most(const FittedCause& cause) const {
    return cause.residual <= healthy_residual_ / 2;
  }

  /// The best value by estimates; nothing where the machine cannot have the cause. Of a continuous
  /// value only some are estimated: those nearest to where the curve between them fits best.
  std::optional<FittedCause> screen(const Hypothesis& hypothesis) const;

  /// Two causes at once with the values that fit best, as far as the curves of each tell: both make
  /// a call longer, or the one that takes longer hides the other.
  TwoValues best_of_two(const FittedCause& one, const FittedCause& other) const;

  /// By simulation. The value is looked for anew by estimates that are right where it was
  /// simulated. `finely`: at the largest size and at as many others as one may wait for; nothing
  /// where the screened cause was simulated by more messages than that.
  std::optional<FittedCause> simulate(const FittedCause& screened, bool finely = false) const;

 private:
  using Logs = std::vector<double>;
  std::optional<PointPredictions> simulate_all(const Deviation& change) const;
  std::optional<PointPredictions> simulate_chosen(const Deviation& change, ValueCurve& curve,
                                                  double value, const PointChoice& choice) const;
  bool ask(const Hypothesis& hypothesis, double value, ValueCurve& curve) const;
  void ask_first(const Hypothesis& hypothesis, ValueCurve& curve) const;
  void ask_beside(const Hypothesis& hypothesis, double best, ValueCurve& curve) const;
  double best_value(const Hypothesis& hypothesis, const ValueCurve& curve, const Logs& off) const;
  double error(const ResidualPlace& place) const;
  std::vector<ResidualPlace> less_sure(std::vector<ResidualPlace> places) const;
  FittedCause judged(const Hypothesis& hypothesis, double value, PointPredictions predicted) const;

  const LogPredictor& predictor_;
  const std::vector<PointIndex>& points_;
  const Spread& spread_;
  std::uint64_t max_messages_of_likeliest_;
  Logs measured_;
  std::vector<ResidualPlace> healthy_;
  double healthy_residual_ = 0;
  std::uint64_t messages_ = 0;  // of the healthy call at all points
  Logs estimated_;              // the healthy machine
  Logs correction_;     // what the simulation of the healthy machine takes longer than its estimate
  PointChoice coarse_;  // of points that are simulated, for every cause
  PointChoice fine_;    // for the likeliest
};

}  // namespace collsim
