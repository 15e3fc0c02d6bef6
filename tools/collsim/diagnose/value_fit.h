#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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
  /// value; that of one that is among the likeliest may take more.
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

  /// The best of the values to try, by estimates; nothing where the machine cannot have it.
  std::optional<FittedCause> screen(const Hypothesis& hypothesis) const;

  /// The best of those between as well.
  FittedCause refined(FittedCause cause) const;

  /// By simulation. The value is looked for anew by estimates that are right where it was
  /// simulated. `finely`: at the largest size and at as many others as one may wait for; nothing
  /// where the screened cause was simulated by more messages than that.
  std::optional<FittedCause> simulate(const FittedCause& screened, bool finely = false) const;

 private:
  using Logs = std::vector<double>;
  /// How one value of a cause's parameter fits; nothing where the machine cannot have it.
  using Judge = std::function<std::optional<FittedCause>(double value)>;

  std::optional<PointPredictions> simulate_all(const Deviation& change) const;
  std::optional<PointPredictions> simulate_chosen(const Deviation& change,
                                                  const PointChoice& choice) const;
  std::optional<EstimatesOff> estimates_off(const Hypothesis& hypothesis, double value,
                                            const Logs& times,
                                            const std::optional<EstimatesOff>& known) const;
  std::optional<double> corrected_value(const Hypothesis& hypothesis,
                                        const EstimatesOff& off) const;
  Judge judge_by_estimates(const Hypothesis& hypothesis, const EstimatesOff& off) const;
  double error(const ResidualPlace& place) const;
  std::vector<ResidualPlace> less_sure(std::vector<ResidualPlace> places) const;
  FittedCause judged(const Hypothesis& hypothesis, double value, PointPredictions predicted) const;

  const LogPredictor& predictor_;
  const std::vector<PointIndex>& points_;
  const Spread& spread_;
  Logs measured_;
  std::vector<ResidualPlace> healthy_;
  double healthy_residual_ = 0;
  std::uint64_t messages_ = 0;  // of the healthy call at all points
  Logs correction_;     // what the simulation of the healthy machine takes longer than its estimate
  PointChoice coarse_;  // of points that are simulated, for every cause
  PointChoice fine_;    // for the likeliest
};

}  // namespace collsim
