#include "tools/collsim/diagnose/value_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "sim/base/division.h"
#include "tools/collsim/diagnose/log_predictor.h"
#include "tools/collsim/diagnose/spread.h"

namespace collsim {

namespace {

void add(const std::vector<std::size_t>& members, const std::set<std::size_t>& chosen,
         PointChoice& choice) {
  for (std::size_t k = 0; k < members.size(); ++k) {
    const auto distance = [k](std::size_t other) { return k > other ? k - other : other - k; };
    const auto nearest =
        std::min_element(chosen.begin(), chosen.end(),
                         [&](std::size_t x, std::size_t y) { return distance(x) < distance(y); });
    choice.stand_ins[members[k]] =
        choice.points.size() + static_cast<std::size_t>(std::distance(chosen.begin(), nearest));
  }
  for (const std::size_t k : chosen) choice.points.push_back(members[k]);
}

/// Places in `members`, points of one series by rising size.
std::set<std::size_t> first_chosen(const Evidence& evidence, const std::vector<PointIndex>& points,
                                   const std::vector<std::size_t>& members) {
  const auto is_large = [&](std::size_t point) {
    const PointIndex& at = points[point];
    return evidence.series[at.series].points[at.point].size >= bandwidth_bound;
  };
  const auto found = std::find_if(members.begin(), members.end(), is_large);
  const auto last = static_cast<std::size_t>(
      std::distance(members.begin(), found == members.end() ? std::prev(found) : found));
  return {0, last / 2, last};
}

/// Chooses each of so many points.
PointChoice every_point(std::size_t count) {
  PointChoice choice;
  choice.points.resize(count);
  std::iota(choice.points.begin(), choice.points.end(), std::size_t{0});
  choice.stand_ins = choice.points;
  return choice;
}

/// Chooses of each series the smallest size, the smallest that bandwidth bounds and the one between
/// them, and the largest if that is wanted; then the smallest others that take no more than `most`
/// messages together. What is left out is off its estimate by as much as the nearest chosen one.
/// `transfers` are the messages that each point takes.
PointChoice choose_points(const Evidence& evidence, const std::vector<PointIndex>& points,
                          const std::vector<std::uint64_t>& transfers, std::uint64_t most,
                          bool with_largest) {
  std::map<std::size_t, std::vector<std::size_t>> by_series;
  for (std::size_t i = 0; i < points.size(); ++i) by_series[points[i].series].push_back(i);
  PointChoice choice;
  choice.stand_ins.resize(points.size());
  for (const auto& [series, members] : by_series) {
    const std::uint64_t share = most / by_series.size();
    std::set<std::size_t> chosen = first_chosen(evidence, points, members);
    if (with_largest && transfers[members.back()] <= share) chosen.insert(members.size() - 1);
    std::uint64_t sum = 0;
    for (const std::size_t k : chosen) sum += transfers[members[k]];
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (chosen.contains(k)) continue;
      sum += transfers[members[k]];
      if (sum > share) break;
      chosen.insert(k);
    }
    add(members, chosen, choice);
  }
  return choice;
}

using Logs = std::vector<double>;

Logs difference(const Logs& a, const Logs& b) {
  Logs difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return difference;
}

using Judge = std::function<std::optional<FittedCause>(double value)>;

/// The best of the values that are tried.
class Search {
 public:
  explicit Search(const Judge& judge, std::optional<FittedCause> best = std::nullopt)
      : judge_(judge), best_(std::move(best)) {}

  void consider(double value) {
    auto fitted = judge_(value);
    if (fitted && (!best_ || fitted->log_likelihood > best_->log_likelihood)) {
      best_ = std::move(fitted);
    }
  }

  /// On both sides of the best so far, in ever smaller steps of the logarithm.
  void refine(double step, const CauseParameter& parameter, int halvings = 4) {
    for (int i = 0; i < halvings && best_; ++i, step /= 2) {
      const double centre = best_->value;
      consider(std::max(parameter.min, centre * std::exp(-step)));
      consider(std::min(parameter.max, centre * std::exp(step)));
    }
  }

  /// Those of the values that are fewer than so many places from the best so far.
  void consider_beside(const std::vector<double>& values, std::size_t places) {
    if (!best_ || places == 1) return;
    const auto best = std::find(values.begin(), values.end(), best_->value) - values.begin();
    const auto within = static_cast<std::ptrdiff_t>(places);
    const std::ptrdiff_t first = std::max<std::ptrdiff_t>(best - within + 1, 0);
    const std::ptrdiff_t end = std::min<std::ptrdiff_t>(best + within, std::ssize(values));
    for (std::ptrdiff_t i = first; i < end; ++i) {
      if (i != best) consider(values[static_cast<std::size_t>(i)]);
    }
  }

  std::optional<FittedCause> take() && { return std::move(best_); }

 private:
  const Judge& judge_;
  std::optional<FittedCause> best_;
};

/// Messages of one simulation of a cause that is among the likeliest.
constexpr std::uint64_t of_likeliest = 250'000;

}  // namespace

double likelihood_of_any(const std::vector<double>& residuals, std::vector<ResidualPlace> places,
                         const Spread& spread) {
  constexpr double weight = 0.3;
  Spread any = spread;
  any.ranges.classes.clear();
  for (TrustError& error : any.errors) error.below = error.from_16_mib = 1;
  for (ResidualPlace& place : places) place.trust = Trust::guessed;
  return log_likelihood(residuals, places, any) + std::log(weight);
}

ValueFit::ValueFit(const LogPredictor& predictor, const std::vector<PointIndex>& points,
                   const Spread& spread, std::uint64_t max_messages)
    : predictor_(predictor), points_(points), spread_(spread), correction_(points.size(), 0) {
  for (const PointIndex& each : points) {
    const auto& series = predictor.evidence().series[each.series];
    measured_.push_back(std::log(series.points[each.point].measured.value));
  }
  coarse_ = every_point(points.size());
  fine_ = coarse_;
  const auto simulated = predictor.simulate({}, points);
  const auto estimated = predictor.estimate({}, points);
  if (!simulated || !estimated) return;
  healthy_ = simulated->places;
  healthy_residual_ = misfit_of(difference(measured_, simulated->log_times));
  messages_ = simulated->all_transfers();
  correction_ = difference(simulated->log_times, estimated->log_times);
  coarse_ = choose_points(predictor.evidence(), points, simulated->transfers, max_messages, false);
  fine_ = choose_points(predictor.evidence(), points, simulated->transfers,
                        std::max(max_messages, of_likeliest), true);
}

double ValueFit::large_residual(const FittedCause& cause) const {
  const Logs residuals = difference(measured_, cause.predicted.log_times);
  Logs large;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    if (cause.predicted.places[i].size >= bandwidth_bound) large.push_back(residuals[i]);
  }
  return misfit_of(large.empty() ? residuals : large);
}

FittedCause ValueFit::taken_for(const FittedCause& fitted, const Hypothesis& hypothesis) const {
  FittedCause other = judged(hypothesis, fitted.value, fitted.predicted);
  other.simulated = fitted.simulated;
  return other;
}

bool ValueFit::explains_most(const FittedCause& cause) const {
  constexpr double half = 0.5;
  return cause.residual <= half * healthy_residual_;
}

std::optional<FittedCause> ValueFit::screen(const Hypothesis& hypothesis) const {
  const Judge judge = judge_by_estimates(hypothesis, {1, correction_, {}});
  if (!hypothesis.parameter) return judge(0);
  const std::vector<double>& values = hypothesis.parameter->values;
  // All of them: the top of the likelihood can be too narrow to climb to. Only of many counts, as
  // of the NICs of a rack, each of which is a search of NCCL's, first some and then those beside
  // the best: neighbours are alike.
  constexpr std::size_t many = 16;
  const std::size_t stride = values.size() <= many ? 1 : divide_up(values.size(), many / 2);
  Search search(judge);
  for (std::size_t i = 0; i < values.size(); i += stride) search.consider(values[i]);
  search.consider_beside(values, stride);
  return std::move(search).take();
}

FittedCause ValueFit::refined(FittedCause cause) const {
  const Hypothesis hypothesis = cause.hypothesis;
  if (!hypothesis.parameter || !hypothesis.parameter->continuous) return cause;
  const Judge judge = judge_by_estimates(hypothesis, {1, correction_, {}});
  Search search(judge, std::move(cause));
  search.refine(0.35, *hypothesis.parameter);
  return *std::move(search).take();
}

std::optional<FittedCause> ValueFit::simulate(const FittedCause& screened, bool finely) const {
  const Hypothesis& hypothesis = screened.hypothesis;
  const bool continuous = hypothesis.parameter && hypothesis.parameter->continuous;
  std::optional<FittedCause> best;
  // One size alone takes more messages than all of a fine simulation may: it would be the same.
  if (finely && screened.simulated && screened.predicted.all_transfers() > of_likeliest) {
    return best;
  }
  double value = screened.value;
  std::optional<EstimatesOff> known;
  const int rounds = finely ? 3 : 2;
  for (int round = 0; round < rounds; ++round) {
    auto simulated = simulate_chosen(hypothesis.change(value), finely ? fine_ : coarse_);
    if (!simulated) break;
    const Logs times = simulated->log_times;
    FittedCause fitted = judged(hypothesis, value, std::move(*simulated));
    fitted.simulated = true;
    if (!best || fitted.log_likelihood > best->log_likelihood) best = std::move(fitted);
    if (!continuous) break;
    const auto off = estimates_off(hypothesis, value, times, known);
    if (!off) break;
    known = off;
    const auto next = corrected_value(hypothesis, *off);
    if (!next || std::abs(std::log(*next / value)) < 0.005) break;
    value = *next;
  }
  return best;
}

/// Where there is no estimate, and a call has no more than so many messages at all its sizes.
std::optional<PointPredictions> ValueFit::simulate_all(const Deviation& change) const {
  constexpr std::uint64_t most = 150'000;
  if (messages_ > most) return std::nullopt;
  return predictor_.simulate(change, points_);
}

/// By simulation at the chosen points; at the others by estimates that are off by as much as
/// there.
std::optional<PointPredictions> ValueFit::simulate_chosen(const Deviation& change,
                                                          const PointChoice& choice) const {
  std::vector<PointIndex> chosen;
  for (const std::size_t each : choice.points) chosen.push_back(points_[each]);
  const auto simulated = predictor_.simulate(change, chosen);
  auto all = predictor_.estimate(change, points_);
  if (!all) return simulate_all(change);
  if (!simulated) return std::nullopt;
  Logs off = simulated->log_times;
  for (std::size_t j = 0; j < off.size(); ++j) off[j] -= all->log_times[choice.points[j]];
  for (std::size_t i = 0; i < points_.size(); ++i) all->log_times[i] += off[choice.stand_ins[i]];
  all->transfers = simulated->transfers;
  return all;
}

/// Two simulated values say how that changes with the value.
std::optional<EstimatesOff> ValueFit::estimates_off(
    const Hypothesis& hypothesis, double value, const Logs& times,
    const std::optional<EstimatesOff>& known) const {
  const auto plain = predictor_.estimate(hypothesis.change(value), points_);
  if (!plain) return std::nullopt;
  EstimatesOff off{value, difference(times, plain->log_times), {}};
  off.slopes.resize(times.size(), 0);
  constexpr double min_step = 0.01;  // of the logarithm; noise of simulations counts below
  const double step = known ? std::log(value / known->value) : 0;
  for (std::size_t i = 0; i < times.size() && std::abs(step) > min_step; ++i) {
    off.slopes[i] = (off.at_value[i] - known->at_value[i]) / step;
  }
  return off;
}

std::optional<double> ValueFit::corrected_value(const Hypothesis& hypothesis,
                                                const EstimatesOff& off) const {
  const Judge judge = judge_by_estimates(hypothesis, off);
  Search search(judge);
  search.consider(off.value);
  constexpr int halvings = 6;  // large calls are measured to within half a percent
  search.refine(0.2, *hypothesis.parameter, halvings);
  const auto found = std::move(search).take();
  return found ? std::optional(found->value) : std::nullopt;
}

ValueFit::Judge ValueFit::judge_by_estimates(const Hypothesis& hypothesis,
                                             const EstimatesOff& off) const {
  return [this, &hypothesis, off](double value) -> std::optional<FittedCause> {
    const Deviation change = hypothesis.change(value);
    auto predicted = predictor_.estimate(change, points_);
    if (predicted) {
      const double step = off.slopes.empty() ? 0 : std::log(value / off.value);
      for (std::size_t i = 0; i < off.at_value.size(); ++i) {
        predicted->log_times[i] += off.at_value[i];
        if (step != 0) predicted->log_times[i] += off.slopes[i] * step;
      }
    } else {
      predicted = simulate_all(change);
    }
    if (!predicted) return std::nullopt;
    return judged(hypothesis, value, std::move(*predicted));
  };
}

double ValueFit::error(const ResidualPlace& place) const {
  return spread_.sided_error(place.trust, place.medium, place.size).slower;
}

/// A cause that has data wait for another part makes no prediction surer than the healthy one is.
std::vector<ResidualPlace> ValueFit::less_sure(std::vector<ResidualPlace> places) const {
  for (std::size_t i = 0; i < std::min(places.size(), healthy_.size()); ++i) {
    if (error(healthy_[i]) > error(places[i])) places[i] = healthy_[i];
  }
  return places;
}

FittedCause ValueFit::judged(const Hypothesis& hypothesis, double value,
                             PointPredictions predicted) const {
  const Logs residuals = difference(measured_, predicted.log_times);
  FittedCause fitted;
  fitted.hypothesis = hypothesis;
  fitted.value = value;
  fitted.log_likelihood =
      log_likelihood(residuals, less_sure(predicted.places), spread_, fitted_numbers(hypothesis));
  fitted.residual = misfit_of(residuals);
  // What the log shows did happen. That its simulation is off says little against it.
  if (is_shown(hypothesis) && explains_most(fitted)) {
    fitted.log_likelihood =
        std::max(fitted.log_likelihood, likelihood_of_any(residuals, predicted.places, spread_));
  }
  fitted.predicted = std::move(predicted);
  return fitted;
}

}  // namespace collsim
