#include "tools/collsim/diagnose/value_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
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
    const std::vector<EvidencePoint>& of_series = evidence.series[series].points;
    const auto large = std::find_if(members.begin(), members.end(), [&](std::size_t point) {
      return of_series[points[point].point].size >= bandwidth_bound;
    });
    const auto last = static_cast<std::size_t>(
        std::distance(members.begin(), large == members.end() ? std::prev(large) : large));
    std::set<std::size_t> chosen{0, last / 2, last};
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

/// Estimates of more ranks take so long that fewer values are tried.
bool is_large(const LogPredictor& predictor) {
  constexpr double little = 1.0 / 8;
  return share_of_effort(predictor.evidence().series.front().call.ranks) < little;
}

}  // namespace

double likelihood_of_any(const std::vector<double>& residuals, std::vector<ResidualPlace> places,
                         const Spread& spread) {
  constexpr double weight = 0.3;
  constexpr double far = 6.7;  // half of all times are within twice of what is expected
  Spread any = spread;
  any.ranges = {{}, {{Trust::guessed, "any", {{1 / far, far}}}}};
  for (ResidualPlace& place : places) place.trust = Trust::guessed;
  return log_likelihood(residuals, places, any) + std::log(weight);
}

ValueFit::ValueFit(const LogPredictor& predictor, const std::vector<PointIndex>& points,
                   const Spread& spread, std::uint64_t max_messages)
    : predictor_(predictor),
      points_(points),
      spread_(spread),
      max_messages_of_likeliest_(4 * max_messages),
      correction_(points.size(), 0) {
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
  estimated_ = estimated->log_times;
  correction_ = difference(simulated->log_times, estimated_);
  coarse_ = choose_points(predictor.evidence(), points, simulated->transfers, max_messages, false);
  fine_ = choose_points(predictor.evidence(), points, simulated->transfers,
                        max_messages_of_likeliest_, true);
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
  other.curve = fitted.curve;
  other.simulated = fitted.simulated;
  return other;
}

/// Estimates one value, or simulates it where there is no estimate. Whether the machine can have
/// it.
bool ValueFit::ask(const Hypothesis& hypothesis, double value, ValueCurve& curve) const {
  if (curve.known().contains(value)) return true;
  const Deviation change = hypothesis.change(value);
  auto predicted = predictor_.estimate(change, points_);
  if (!predicted) {
    predicted = simulate_all(change);
    for (std::size_t i = 0; predicted && i < points_.size(); ++i) {
      predicted->log_times[i] -= correction_[i];
    }
  }
  if (predicted) curve.add(value, std::move(*predicted));
  return predicted.has_value();
}

/// Values from which to look on. Of a continuous value every other one, or fewer; of counts all,
/// but of many, as of the NICs of a rack, each of which is a search of NCCL's, some: neighbours are
/// alike.
void ValueFit::ask_first(const Hypothesis& hypothesis, ValueCurve& curve) const {
  if (!hypothesis.parameter) {
    ask(hypothesis, 0, curve);
    return;
  }
  const std::vector<double>& values = hypothesis.parameter->values;
  const std::size_t many = is_large(predictor_) ? 8 : 16;
  std::size_t stride = values.size() <= many ? 1 : divide_up(values.size(), many / 2);
  if (hypothesis.parameter->continuous && values.size() > 3) {
    stride = is_large(predictor_) ? 4 : 2;
  }
  for (std::size_t i = 0; i < values.size(); i += stride) ask(hypothesis, values[i], curve);
  if (hypothesis.parameter->continuous) ask(hypothesis, values.back(), curve);
}

/// By the curve, which is linear between the values that are known.
double ValueFit::best_value(const Hypothesis& hypothesis, const ValueCurve& curve,
                            const Logs& off) const {
  const CauseParameter& parameter = *hypothesis.parameter;
  const auto places = less_sure(curve.known().begin()->second.places);
  const int fitted = fitted_numbers(hypothesis);
  double best = curve.known().begin()->first;
  double most = -std::numeric_limits<double>::infinity();
  const auto consider = [&](double value) {
    const Logs left = difference(difference(measured_, off), curve.log_times(value));
    const double likelihood =
        log_likelihood(left, places, spread_, fitted) + prior_of(parameter, value);
    if (likelihood <= most) return;
    most = likelihood;
    best = value;
  };
  if (!parameter.continuous) {
    for (const auto& [value, known] : curve.known()) consider(value);
    return best;
  }
  constexpr int between = 3;
  for (const double value : curve.grid(parameter.min, parameter.max, between)) consider(value);
  double step = 0.1;
  constexpr int halvings = 5;  // large calls are measured to within half a percent
  for (int i = 0; i < halvings; ++i, step /= 2) {
    const double centre = best;
    consider(std::max(parameter.min, centre * std::exp(-step)));
    consider(std::min(parameter.max, centre * std::exp(step)));
  }
  return best;
}

std::optional<FittedCause> ValueFit::screen(const Hypothesis& hypothesis) const {
  auto curve =
      std::make_shared<ValueCurve>(hypothesis.parameter && hypothesis.parameter->is_share());
  ask_first(hypothesis, *curve);
  if (curve->known().empty()) return std::nullopt;
  double best = curve->known().begin()->first;
  if (hypothesis.parameter) {
    const CauseParameter& parameter = *hypothesis.parameter;
    best = best_value(hypothesis, *curve, correction_);
    const int most = is_large(predictor_) ? 2 : 5;  // values that are asked for
    constexpr double close = 0.02;                  // of the logarithm, to one that is known
    for (int i = 0; i < most && parameter.continuous; ++i) {
      const bool is_known = std::any_of(
          curve->known().begin(), curve->known().end(),
          [&](const auto& each) { return std::abs(std::log(each.first / best)) < close; });
      if (is_known || !ask(hypothesis, best, *curve)) break;
      best = best_value(hypothesis, *curve, correction_);
    }
    const bool is_between = curve->known().size() < parameter.values.size();
    if (!parameter.continuous && is_between && !is_large(predictor_)) {
      ask_beside(hypothesis, best, *curve);
      best = best_value(hypothesis, *curve, correction_);
    }
    if (!ask(hypothesis, best, *curve)) return std::nullopt;
  }
  PointPredictions predicted = curve->known().at(best);
  for (std::size_t i = 0; i < points_.size(); ++i) predicted.log_times[i] += correction_[i];
  FittedCause fitted = judged(hypothesis, best, std::move(predicted));
  fitted.curve = std::move(curve);
  return fitted;
}

/// Counts between the best of those that are known and its neighbours among them.
void ValueFit::ask_beside(const Hypothesis& hypothesis, double best, ValueCurve& curve) const {
  const auto at = curve.known().find(best);
  const double low = at == curve.known().begin() ? best : std::prev(at)->first;
  const double high = std::next(at) == curve.known().end() ? hypothesis.parameter->values.back()
                                                           : std::next(at)->first;
  for (const double value : hypothesis.parameter->values) {
    if (low < value && value <= high) ask(hypothesis, value, curve);
  }
}

TwoValues ValueFit::best_of_two(const FittedCause& one, const FittedCause& other) const {
  TwoValues best{one.value, other.value, -std::numeric_limits<double>::infinity()};
  const auto places = less_sure(one.predicted.places);
  const int fitted = fitted_numbers(one.hypothesis) + fitted_numbers(other.hypothesis);
  const auto consider = [&](double x, double y, bool adds_up) {
    const Logs& of_one = one.curve->known().at(x).log_times;
    const Logs& of_other = other.curve->known().at(y).log_times;
    Logs left = difference(measured_, correction_);
    for (std::size_t i = 0; i < left.size(); ++i) {
      const double larger = std::max(of_one[i], of_other[i]);
      const double more = std::exp(std::min(of_one[i], of_other[i])) - std::exp(estimated_[i]);
      left[i] -= larger;
      if (adds_up && more > 0) left[i] -= std::log1p(more / std::exp(larger));
    }
    const double likelihood = log_likelihood(left, places, spread_, fitted);
    if (likelihood > best.log_likelihood) best = {x, y, likelihood};
  };
  for (const auto& [x, of_one] : one.curve->known()) {
    for (const auto& [y, of_other] : other.curve->known()) {
      consider(x, y, true);
      consider(x, y, false);
    }
  }
  return best;
}

std::optional<FittedCause> ValueFit::simulate(const FittedCause& screened, bool finely) const {
  const Hypothesis& hypothesis = screened.hypothesis;
  const bool continuous = hypothesis.parameter && hypothesis.parameter->continuous;
  std::optional<FittedCause> best;
  // One size alone takes more messages than all of a fine simulation may: it would be the same.
  if (finely && screened.simulated &&
      screened.predicted.all_transfers() > max_messages_of_likeliest_) {
    return best;
  }
  double value = screened.value;
  const int rounds = finely ? 3 : 2;
  for (int round = 0; round < rounds; ++round) {
    auto simulated =
        simulate_chosen(hypothesis.change(value), *screened.curve, value, finely ? fine_ : coarse_);
    if (!simulated) break;
    const Logs times = simulated->log_times;
    FittedCause fitted = judged(hypothesis, value, std::move(*simulated));
    fitted.simulated = true;
    fitted.curve = screened.curve;
    if (!best || fitted.log_likelihood > best->log_likelihood) best = std::move(fitted);
    if (!continuous || !screened.curve->known().contains(value)) break;
    const Logs off = difference(times, screened.curve->known().at(value).log_times);
    const double next = best_value(hypothesis, *screened.curve, off);
    if (std::abs(std::log(next / value)) < 0.005) break;
    value = next;
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
                                                          ValueCurve& curve, double value,
                                                          const PointChoice& choice) const {
  auto estimated = predictor_.estimate(change, points_);
  if (!estimated) return simulate_all(change);
  curve.add(value, *estimated);
  std::vector<PointIndex> chosen;
  for (const std::size_t each : choice.points) chosen.push_back(points_[each]);
  const auto simulated = predictor_.simulate(change, chosen);
  if (!simulated) return std::nullopt;
  Logs off = simulated->log_times;
  for (std::size_t j = 0; j < off.size(); ++j) off[j] -= estimated->log_times[choice.points[j]];
  for (std::size_t i = 0; i < points_.size(); ++i) {
    estimated->log_times[i] += off[choice.stand_ins[i]];
  }
  estimated->transfers = simulated->transfers;
  return estimated;
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
