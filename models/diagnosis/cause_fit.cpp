#include "models/diagnosis/cause_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

namespace collsim {

namespace {

using Logs = std::vector<double>;

Logs difference(const Logs& a, const Logs& b) {
  Logs difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return difference;
}

double root_mean_square(const Logs& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

/// How one value of a cause's parameter fits; nothing where the machine cannot have it.
using Judge = std::function<std::optional<FittedCause>(double value)>;

/// The best of the values that are tried.
class Search {
 public:
  explicit Search(const Judge& judge) : judge_(judge) {}

  void consider(double value) {
    auto fitted = judge_(value);
    if (fitted && (!best_ || fitted->log_likelihood > best_->log_likelihood)) {
      best_ = std::move(fitted);
    }
  }

  /// On both sides of the best so far, in ever smaller steps of the logarithm.
  void refine(double step, double most) {
    constexpr int halvings = 4;
    for (int i = 0; i < halvings && best_; ++i, step /= 2) {
      const double centre = best_->value;
      consider(centre * std::exp(-step));
      consider(std::min(most, centre * std::exp(step)));
    }
  }

  std::optional<FittedCause> take() && { return std::move(best_); }

 private:
  const Judge& judge_;
  std::optional<FittedCause> best_;
};

/// Places that play one part in a call.
struct Part {
  const CausePlace* place = nullptr;  ///< the first of them
  Logs log_times;
  std::size_t places = 1;
};
constexpr std::size_t max_parts = 6;
/// Of a cause, those that estimates favour.
constexpr std::size_t max_parts_simulated = 2;

/// Whether two places make every size equally slow, up to what two estimates differ by.
bool agree(const Logs& a, const Logs& b) {
  constexpr double alike = 0.02;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > alike) return false;
  }
  return true;
}

double middle_value(const CauseParameter& parameter) {
  return parameter.values[parameter.values.size() / 2];
}

class Fit {
 public:
  Fit(const Predictor& predictor, const std::vector<PointIndex>& points, const Spread& spread)
      : predictor_(predictor), points_(points), spread_(spread), correction_(points.size(), 0) {
    for (const PointIndex& each : points) {
      const auto& series = predictor.evidence().series[each.series];
      measured_.push_back(std::log(series.points[each.point].measured.value));
    }
    const auto simulated = predictor.simulate({}, points);
    const auto estimated = predictor.estimate({}, points);
    if (!simulated || !estimated) return;
    healthy_transfers_ = simulated->transfers;
    correction_ = difference(simulated->log_times, estimated->log_times);
  }

  std::uint64_t healthy_transfers() const { return healthy_transfers_; }

  /// A cause in each part that its places play, the commonest first: places whose estimates agree
  /// play the same one, and a part has the weight of its places.
  std::vector<Hypothesis> by_part(const Hypothesis& hypothesis) const {
    if (hypothesis.places.size() < 2) return {hypothesis};
    const double value = hypothesis.parameter ? middle_value(*hypothesis.parameter) : 0;
    std::vector<Part> parts;
    std::size_t count = 0;
    for (const CausePlace& place : hypothesis.places) {
      const auto estimated = predictor_.estimate(place.change(value), points_);
      if (!estimated) continue;
      ++count;
      const auto same = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
        return agree(part.log_times, estimated->log_times);
      });
      if (same == parts.end()) {
        parts.push_back({&place, estimated->log_times});
      } else {
        ++same->places;
      }
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.places > b.places; });
    if (parts.size() > max_parts) parts.resize(max_parts);
    std::vector<Hypothesis> all;
    for (const Part& part : parts) {
      Hypothesis& here = all.emplace_back(hypothesis);
      here.change = part.place->change;
      here.place = part.place->name;
      here.place_share = static_cast<double>(part.places) / static_cast<double>(count);
      here.places.clear();
    }
    return all;
  }

  std::optional<FittedCause> screen(const Hypothesis& hypothesis) const {
    const Judge judge = judge_by_estimates(hypothesis, correction_);
    Search search(judge);
    if (!hypothesis.parameter) {
      search.consider(0);
      return std::move(search).take();
    }
    const CauseParameter& parameter = *hypothesis.parameter;
    for (const double value : parameter.values) search.consider(value);
    if (parameter.continuous) search.refine(0.35, parameter.max);
    return std::move(search).take();
  }

  /// The value is looked for anew by estimates that are right where it was simulated.
  std::optional<FittedCause> simulate(const FittedCause& screened) const {
    const Hypothesis& hypothesis = screened.hypothesis;
    const bool continuous = hypothesis.parameter && hypothesis.parameter->continuous;
    std::optional<FittedCause> best;
    double value = screened.value;
    constexpr int rounds = 2;
    for (int round = 0; round < rounds; ++round) {
      auto simulated = predictor_.simulate(hypothesis.change(value), points_);
      if (!simulated) break;
      const Logs times = simulated->log_times;
      FittedCause fitted = judged(hypothesis, value, std::move(*simulated));
      fitted.simulated = true;
      if (!best || fitted.log_likelihood > best->log_likelihood) best = std::move(fitted);
      const auto next = continuous ? corrected_value(hypothesis, value, times) : std::nullopt;
      if (!next || std::abs(std::log(*next / value)) < 0.01) break;
      value = *next;
    }
    return best;
  }

 private:
  std::optional<double> corrected_value(const Hypothesis& hypothesis, double value,
                                        const Logs& times) const {
    const auto plain = predictor_.estimate(hypothesis.change(value), points_);
    if (!plain) return std::nullopt;
    const Judge judge = judge_by_estimates(hypothesis, difference(times, plain->log_times));
    Search search(judge);
    search.consider(value);
    search.refine(0.2, hypothesis.parameter->max);
    const auto found = std::move(search).take();
    return found ? std::optional(found->value) : std::nullopt;
  }

  Judge judge_by_estimates(const Hypothesis& hypothesis, const Logs& correction) const {
    return [this, &hypothesis, correction](double value) -> std::optional<FittedCause> {
      auto predicted = predictor_.estimate(hypothesis.change(value), points_);
      if (!predicted) return std::nullopt;
      for (std::size_t i = 0; i < correction.size(); ++i) predicted->log_times[i] += correction[i];
      return judged(hypothesis, value, std::move(*predicted));
    };
  }

  FittedCause judged(const Hypothesis& hypothesis, double value, PointPredictions predicted) const {
    const Logs residuals = difference(measured_, predicted.log_times);
    FittedCause fitted;
    fitted.hypothesis = hypothesis;
    fitted.value = value;
    fitted.log_likelihood = log_likelihood(residuals, predicted.places, spread_);
    fitted.residual = root_mean_square(residuals);
    fitted.predicted = std::move(predicted);
    return fitted;
  }

  const Predictor& predictor_;
  const std::vector<PointIndex>& points_;
  const Spread& spread_;
  Logs measured_;
  Logs correction_;  // what the simulation of the healthy machine takes longer than its estimate
  std::uint64_t healthy_transfers_ = 0;
};

void sort_by_score(std::vector<FittedCause>& causes) {
  std::stable_sort(causes.begin(), causes.end(), [](const FittedCause& a, const FittedCause& b) {
    return score_of(a) > score_of(b);
  });
}

}  // namespace

double prior_of(const FittedCause& cause) {
  const Hypothesis& hypothesis = cause.hypothesis;
  const double of_value = hypothesis.parameter ? prior_of(*hypothesis.parameter, cause.value) : 0;
  return std::log(hypothesis.weight) + of_value;
}

/// A cause that is off by more than this explains little: it counts a twentieth, so that `none of
/// these` comes before it. Chosen.
constexpr double max_misfit = 0.3;
constexpr double misfit_price = 3;

double score_of(const FittedCause& cause) {
  // A fitted value can follow noise: it must earn what it adds (half of Akaike's criterion).
  const double price = cause.hypothesis.parameter ? 1 : 0;
  return cause.log_likelihood + prior_of(cause) + std::log(cause.hypothesis.place_share) - price -
         (cause.residual > max_misfit ? misfit_price : 0);
}

std::vector<FittedCause> fit_causes(const Predictor& predictor,
                                    const std::vector<Hypothesis>& hypotheses,
                                    const std::vector<PointIndex>& points, const Spread& spread,
                                    const FitEffort& effort) {
  const Fit fit(predictor, points, spread);
  std::vector<FittedCause> causes;
  for (const Hypothesis& hypothesis : hypotheses) {
    std::vector<FittedCause> parts;
    for (const Hypothesis& each : fit.by_part(hypothesis)) {
      if (auto fitted = fit.screen(each)) parts.push_back(std::move(*fitted));
    }
    sort_by_score(parts);
    if (parts.size() > max_parts_simulated) parts.resize(max_parts_simulated);
    std::move(parts.begin(), parts.end(), std::back_inserter(causes));
  }
  sort_by_score(causes);
  std::uint64_t messages = fit.healthy_transfers();
  for (std::size_t i = 0; i < std::min(effort.max, causes.size()); ++i) {
    if (messages > (i < effort.first ? effort.for_first : effort.messages)) break;
    auto simulated = fit.simulate(causes[i]);
    if (!simulated) continue;
    messages += 2 * simulated->predicted.transfers;
    causes[i] = std::move(*simulated);
  }
  sort_by_score(causes);
  return causes;
}

}  // namespace collsim
