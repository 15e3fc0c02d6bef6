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

/// How much longer a cause's simulation takes than its estimate: the log of the ratio, by point.
struct EstimatesOff {
  double value = 1;  ///< value of the cause's parameter
  std::vector<double> at_value;
  std::vector<double> slopes;  ///< for each unit of the value's logarithm; empty: none is known
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
  bool explains_most(const FittedCause& cause) const;

  /// The best value by estimates; nothing where the machine cannot have the cause. Of a continuous
  /// value only some are estimated: those nearest to where the curve between them fits best.
  std::optional<FittedCause> screen(const Hypothesis& hypothesis) const;

  /// Two causes at once with the values that fit best, as far as the curves of each tell: both make
  /// a call longer, or the one that takes longer hides the other.
  std::vector<std::pair<double, double>> values_of_two(const FittedCause& one,
                                                       const FittedCause& other) const;
  /// The most that the log-likelihood of two at once comes to by these curves.
  double likelihood_of_two(const FittedCause& one, const FittedCause& other) const;

  /// By simulation. The value is looked for anew by estimates that are right where it was
  /// simulated. `finely`: at the largest size and at as many others as one may wait for; nothing
  /// where the screened cause was simulated by more messages than that.
  std::optional<FittedCause> simulate(const FittedCause& screened, bool finely = false) const;

 private:
  using Logs = std::vector<double>;
  /// Two values that were tried by the curves, and how likely they are.
  struct TwoValues {
    std::pair<double, double> values;
    double log_likelihood = 0;
  };

  std::optional<PointPredictions> simulate_all(const Deviation& change) const;
  std::optional<PointPredictions> simulate_chosen(const Deviation& change, ValueCurve& curve,
                                                  double value, const PointChoice& choice) const;
  bool ask(const Hypothesis& hypothesis, double value, ValueCurve& curve) const;
  void ask_first(const Hypothesis& hypothesis, ValueCurve& curve) const;
  void ask_beside(const Hypothesis& hypothesis, double best, ValueCurve& curve) const;
  double best_value(const Hypothesis& hypothesis, const ValueCurve& curve,
                    const EstimatesOff& off) const;
  EstimatesOff estimates_off(const ValueCurve& curve, double value, const Logs& times,
                             const std::optional<EstimatesOff>& known) const;
  Logs corrected(Logs times, double value, const EstimatesOff& off) const;
  TwoValues best_of_two(const FittedCause& one, const FittedCause& other, bool adds_up) const;
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
