#include "models/diagnosis/cause_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string>
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
constexpr std::size_t max_parts = 8;
/// Of a cause, those that estimates favour: by the values to try, and by those between.
constexpr std::size_t max_parts_refined = 3;
constexpr std::size_t max_parts_simulated = 2;

/// Whether two places make every size equally slow, up to what two estimates differ by.
bool agree(const Logs& a, const Logs& b) {
  constexpr double alike = 0.02;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > alike) return false;
  }
  return true;
}

/// Messages of one simulation of a cause that is among the likeliest.
constexpr std::uint64_t of_likeliest = 250'000;

/// Points that are simulated, and for each point the place of the one among them that stands for
/// it.
struct Choice {
  std::vector<std::size_t> points;
  std::vector<std::size_t> stand_ins;
};

double middle_value(const CauseParameter& parameter) {
  return parameter.values[parameter.values.size() / 2];
}

class Fit {
 public:
  Fit(const Predictor& predictor, const std::vector<PointIndex>& points, const Spread& spread,
      const FitEffort& effort)
      : predictor_(predictor), points_(points), spread_(spread), correction_(points.size(), 0) {
    for (const PointIndex& each : points) {
      const auto& series = predictor.evidence().series[each.series];
      measured_.push_back(std::log(series.points[each.point].measured.value));
    }
    coarse_.points.resize(points.size());
    std::iota(coarse_.points.begin(), coarse_.points.end(), std::size_t{0});
    coarse_.stand_ins = coarse_.points;
    fine_ = coarse_;
    const auto simulated = predictor.simulate({}, points);
    const auto estimated = predictor.estimate({}, points);
    if (!simulated || !estimated) return;
    healthy_ = simulated->places;
    messages_ = simulated->all_transfers();
    correction_ = difference(simulated->log_times, estimated->log_times);
    coarse_ = chosen(simulated->transfers, effort.of_one, false);
    fine_ = chosen(simulated->transfers, std::max(effort.of_one, of_likeliest), true);
  }

  /// The root mean square residual of the sizes that bandwidth bounds, or of all where there are
  /// none: smaller ones are predicted too badly to tell of a second cause.
  double large_residual(const FittedCause& cause) const {
    const Logs residuals = difference(measured_, cause.predicted.log_times);
    Logs large;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      if (cause.predicted.places[i].size >= bandwidth_bound) large.push_back(residuals[i]);
    }
    return root_mean_square(large.empty() ? residuals : large);
  }

  /// A cause in each part that its places play, the commonest first: places whose estimates agree
  /// play the same one, and a part has the weight of its places.
  std::vector<Hypothesis> by_part(const Hypothesis& hypothesis) const {
    if (hypothesis.places.size() < 2) return {hypothesis};
    const std::vector<PointIndex> points = few_points();
    const double value = hypothesis.parameter ? middle_value(*hypothesis.parameter) : 0;
    std::vector<Part> parts;
    std::size_t count = 0;
    for (const CausePlace& place : hypothesis.places) {
      const auto estimated = predictor_.estimate(place.change(value), points);
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
    if (parts.empty()) return ends_of(hypothesis);
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part& a, const Part& b) { return a.places > b.places; });
    if (parts.size() > max_parts) parts.resize(max_parts);
    std::vector<Hypothesis> all;
    all.reserve(parts.size());
    for (const Part& part : parts) {
      all.push_back(in_place(hypothesis, *part.place,
                             static_cast<double>(part.places) / static_cast<double>(count)));
    }
    return all;
  }

  /// The best of the values to try.
  std::optional<FittedCause> screen(const Hypothesis& hypothesis) const {
    const Judge judge = judge_by_estimates(hypothesis, correction_);
    Search search(judge);
    if (!hypothesis.parameter) {
      search.consider(0);
      return std::move(search).take();
    }
    for (const double value : hypothesis.parameter->values) search.consider(value);
    return std::move(search).take();
  }

  /// The best of those between as well.
  FittedCause refined(FittedCause cause) const {
    const Hypothesis hypothesis = cause.hypothesis;
    if (!hypothesis.parameter || !hypothesis.parameter->continuous) return cause;
    const Judge judge = judge_by_estimates(hypothesis, correction_);
    Search search(judge, std::move(cause));
    search.refine(0.35, *hypothesis.parameter);
    return *std::move(search).take();
  }

  /// The value is looked for anew by estimates that are right where it was simulated. `finely`: at
  /// the largest size and at as many others as one may wait for.
  std::optional<FittedCause> simulate(const FittedCause& screened, bool finely = false) const {
    const Hypothesis& hypothesis = screened.hypothesis;
    const bool continuous = hypothesis.parameter && hypothesis.parameter->continuous;
    std::optional<FittedCause> best;
    double value = screened.value;
    const int rounds = finely ? 3 : 2;
    for (int round = 0; round < rounds; ++round) {
      auto simulated = simulate_chosen(hypothesis.change(value), finely ? fine_ : coarse_);
      if (!simulated) break;
      const Logs times = simulated->log_times;
      FittedCause fitted = judged(hypothesis, value, std::move(*simulated));
      fitted.simulated = true;
      if (!best || fitted.log_likelihood > best->log_likelihood) best = std::move(fitted);
      const auto next = continuous ? corrected_value(hypothesis, value, times) : std::nullopt;
      if (!next || std::abs(std::log(*next / value)) < 0.005) break;
      value = *next;
    }
    return best;
  }

 private:
  static Hypothesis in_place(Hypothesis hypothesis, const CausePlace& place, double share) {
    hypothesis.place = place.name;
    hypothesis.place_share = share;
    hypothesis.change = place.change;
    hypothesis.places.clear();
    return hypothesis;
  }

  /// A cause that cannot be estimated, in the first and the last of its places.
  static std::vector<Hypothesis> ends_of(const Hypothesis& hypothesis) {
    constexpr double share = 0.5;
    const CausePlace first = hypothesis.places.front();
    const CausePlace last = hypothesis.places.back();
    return {in_place(hypothesis, first, share), in_place(hypothesis, last, share)};
  }

  /// Where there is no estimate, and a call has no more than so many messages at all its sizes.
  std::optional<PointPredictions> simulate_all(const Deviation& change) const {
    constexpr std::uint64_t most = 150'000;
    if (messages_ > most) return std::nullopt;
    return predictor_.simulate(change, points_);
  }

  /// Every second point, the first and the last among them: enough to tell parts apart.
  std::vector<PointIndex> few_points() const {
    constexpr std::size_t one_in = 2;
    std::vector<PointIndex> few;
    for (std::size_t i = 0; i + 1 < points_.size(); i += one_in) few.push_back(points_[i]);
    few.push_back(points_.back());
    return few;
  }

  /// Of each series the smallest size, the smallest that bandwidth bounds and the one between them,
  /// and the largest if that is wanted; then the smallest others that take no more than so many
  /// messages together. What is left out is off its estimate by as much as the nearest chosen one.
  Choice chosen(const std::vector<std::uint64_t>& transfers, std::uint64_t most,
                bool with_largest) const {
    std::map<std::size_t, std::vector<std::size_t>> by_series;
    for (std::size_t i = 0; i < points_.size(); ++i) by_series[points_[i].series].push_back(i);
    Choice choice;
    choice.stand_ins.resize(points_.size());
    for (const auto& [series, members] : by_series) {
      const std::uint64_t share = most / by_series.size();
      std::set<std::size_t> chosen = first_chosen(members);
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

  static void add(const std::vector<std::size_t>& members, const std::set<std::size_t>& chosen,
                  Choice& choice) {
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
  std::set<std::size_t> first_chosen(const std::vector<std::size_t>& members) const {
    const auto is_large = [&](std::size_t point) {
      const PointIndex& at = points_[point];
      return predictor_.evidence().series[at.series].points[at.point].size >= bandwidth_bound;
    };
    const auto found = std::find_if(members.begin(), members.end(), is_large);
    const auto last = static_cast<std::size_t>(
        std::distance(members.begin(), found == members.end() ? std::prev(found) : found));
    return {0, last / 2, last};
  }

  /// By simulation at the chosen points; at the others by estimates that are off by as much as
  /// there.
  std::optional<PointPredictions> simulate_chosen(const Deviation& change,
                                                  const Choice& choice) const {
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

  std::optional<double> corrected_value(const Hypothesis& hypothesis, double value,
                                        const Logs& times) const {
    const auto plain = predictor_.estimate(hypothesis.change(value), points_);
    if (!plain) return std::nullopt;
    const Judge judge = judge_by_estimates(hypothesis, difference(times, plain->log_times));
    Search search(judge);
    search.consider(value);
    constexpr int halvings = 6;  // large calls are measured to within half a percent
    search.refine(0.2, *hypothesis.parameter, halvings);
    const auto found = std::move(search).take();
    return found ? std::optional(found->value) : std::nullopt;
  }

  Judge judge_by_estimates(const Hypothesis& hypothesis, const Logs& correction) const {
    return [this, &hypothesis, correction](double value) -> std::optional<FittedCause> {
      const Deviation change = hypothesis.change(value);
      auto predicted = predictor_.estimate(change, points_);
      if (predicted) {
        for (std::size_t i = 0; i < correction.size(); ++i) {
          predicted->log_times[i] += correction[i];
        }
      } else {
        predicted = simulate_all(change);
      }
      if (!predicted) return std::nullopt;
      return judged(hypothesis, value, std::move(*predicted));
    };
  }

  double error(const ResidualPlace& place) const {
    const double error = spread_.model_error(place.trust, place.size);
    if (place.size >= bandwidth_bound) return error;
    return std::max(error, spread_.slower(place.trust, place.medium, place.size));
  }

  /// A cause that has data wait for another part makes no prediction surer than the healthy one is.
  std::vector<ResidualPlace> less_sure(std::vector<ResidualPlace> places) const {
    for (std::size_t i = 0; i < std::min(places.size(), healthy_.size()); ++i) {
      if (error(healthy_[i]) > error(places[i])) places[i] = healthy_[i];
    }
    return places;
  }

  FittedCause judged(const Hypothesis& hypothesis, double value, PointPredictions predicted) const {
    const Logs residuals = difference(measured_, predicted.log_times);
    FittedCause fitted;
    fitted.hypothesis = hypothesis;
    fitted.value = value;
    fitted.log_likelihood =
        log_likelihood(residuals, less_sure(predicted.places), spread_, fitted_numbers(hypothesis));
    fitted.residual = root_mean_square(residuals);
    fitted.predicted = std::move(predicted);
    return fitted;
  }

  const Predictor& predictor_;
  const std::vector<PointIndex>& points_;
  const Spread& spread_;
  Logs measured_;
  std::vector<ResidualPlace> healthy_;
  std::uint64_t messages_ = 0;  // of the healthy call at all points
  Logs correction_;  // what the simulation of the healthy machine takes longer than its estimate
  Choice coarse_;    // of points that are simulated, for every cause
  Choice fine_;      // for the likeliest
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
  const double price = fitted_numbers(cause.hypothesis);
  return cause.log_likelihood + prior_of(cause) + std::log(cause.hypothesis.place_share) - price -
         (cause.residual > max_misfit ? misfit_price : 0);
}

namespace {

/// The same fit for a cause that is simulated as another is.
FittedCause taken_for(FittedCause fitted, const Hypothesis& hypothesis) {
  fitted.hypothesis = hypothesis;
  return fitted;
}

/// The likeliest parts of a cause, by estimates.
std::vector<FittedCause> screened_parts(const Fit& fit, const Hypothesis& hypothesis) {
  std::vector<FittedCause> parts;
  for (const Hypothesis& each : fit.by_part(hypothesis)) {
    if (auto fitted = fit.screen(each)) parts.push_back(std::move(*fitted));
  }
  sort_by_score(parts);
  if (parts.size() > max_parts_refined) parts.resize(max_parts_refined);
  for (FittedCause& part : parts) part = fit.refined(std::move(part));
  sort_by_score(parts);
  if (parts.size() > max_parts_simulated) parts.resize(max_parts_simulated);
  return parts;
}

/// Every cause by estimates; of those that are simulated alike, one is.
std::vector<FittedCause> screen_all(const Fit& fit, const std::vector<Hypothesis>& hypotheses) {
  std::map<std::string, FittedCause> by_effect;
  std::vector<FittedCause> causes;
  for (const Hypothesis& hypothesis : hypotheses) {
    const auto known = by_effect.find(hypothesis.effect);
    if (!hypothesis.effect.empty() && known != by_effect.end()) {
      causes.push_back(taken_for(known->second, hypothesis));
      continue;
    }
    std::vector<FittedCause> parts = screened_parts(fit, hypothesis);
    if (!hypothesis.effect.empty() && !parts.empty()) {
      by_effect.emplace(hypothesis.effect, parts.front());
    }
    std::move(parts.begin(), parts.end(), std::back_inserter(causes));
  }
  sort_by_score(causes);
  return causes;
}

/// What causes that are simulated alike have in common.
std::string name_of(const FittedCause& cause) {
  const Hypothesis& hypothesis = cause.hypothesis;
  if (!hypothesis.effect.empty()) return hypothesis.effect;
  return fmt::format("{}/{}/{}", hypothesis.cause, hypothesis.text, hypothesis.place);
}

/// The likeliest by simulation, as far as the effort goes. Those that are simulated alike count as
/// one.
void simulate_likeliest(const Fit& fit, const FitEffort& effort, std::vector<FittedCause>& causes) {
  std::map<std::string, FittedCause> by_effect;
  std::uint64_t messages = 0;
  std::size_t count = 0;
  for (FittedCause& cause : causes) {
    const std::string effect = cause.hypothesis.effect;
    const auto known = by_effect.find(effect);
    if (!effect.empty() && known != by_effect.end()) {
      cause = taken_for(known->second, Hypothesis(cause.hypothesis));
      continue;
    }
    if (count == effort.max) continue;
    if (messages > (count < effort.first ? effort.for_first : effort.messages)) continue;
    ++count;
    auto simulated = fit.simulate(cause);
    if (!simulated) continue;
    messages += 2 * simulated->predicted.all_transfers();
    cause = std::move(*simulated);
    if (!effect.empty()) by_effect.emplace(effect, cause);
  }
  sort_by_score(causes);
}

/// The likeliest anew at more sizes, those that take their places among them: estimates of large
/// calls can be off by a third where a cause changes what holds them up.
void simulate_finely(const Fit& fit, std::vector<FittedCause>& causes) {
  constexpr std::size_t likeliest = 6;
  constexpr std::size_t most = 9;
  std::set<std::string> done;
  for (std::size_t tries = 0; tries < most; ++tries) {
    std::set<std::string> before_it;
    const auto next = std::find_if(causes.begin(), causes.end(), [&](const FittedCause& cause) {
      const bool is_near = before_it.size() < likeliest;
      before_it.insert(name_of(cause));
      return is_near && cause.simulated && !done.contains(name_of(cause));
    });
    if (next == causes.end()) return;
    const FittedCause before = *next;
    const auto finer = fit.simulate(before, true);
    for (FittedCause& cause : causes) {
      if (name_of(cause) != name_of(before)) continue;
      if (finer) cause = taken_for(*finer, Hypothesis(cause.hypothesis));
    }
    done.insert(name_of(before));
    sort_by_score(causes);
  }
}

/// Both changes at once; of a variable that both set, the second's value holds.
Deviation both(Deviation one, const Deviation& other) {
  for (const auto& [name, value] : other.variables) one.variables[name] = value;
  const auto add = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  add(one.faults.links, other.faults.links);
  add(one.faults.ranks, other.faults.ranks);
  add(one.faults.hosts, other.faults.hosts);
  one.spread_out = one.spread_out || other.spread_out;
  return one;
}

/// Two causes at once, with one value of each.
Hypothesis joined(const FittedCause& one, const FittedCause& other, double value,
                  double other_value) {
  constexpr double rarer = 0.05;  // two at once, beside one
  const Hypothesis& a = one.hypothesis;
  const Hypothesis& b = other.hypothesis;
  Hypothesis two{
      fmt::format("{}+{}", a.cause, b.cause),
      fmt::format("two at once: {}; and {}", describe(a, value), describe(b, other_value)), a.check,
      std::nullopt,
      [a, b, value, other_value](double) { return both(a.change(value), b.change(other_value)); }};
  two.weight = rarer * a.weight * b.weight;
  two.more_numbers = fitted_numbers(a) + fitted_numbers(b);
  two.place_share = a.place_share * b.place_share;
  two.remedy = a.remedy.empty() || b.remedy.empty() ? "" : a.remedy + "; and " + b.remedy;
  return two;
}

/// The values to try of a fitted cause: its own, and those of its parameter that leave more.
std::vector<double> values_of(const FittedCause& cause) {
  std::vector<double> values{cause.value};
  if (!cause.hypothesis.parameter) return values;
  for (const double value : cause.hypothesis.parameter->values) values.push_back(value);
  return values;
}

/// The likeliest causes, each by one of its places and of those that are simulated alike one.
std::vector<const FittedCause*> likely_causes(const std::vector<FittedCause>& causes) {
  constexpr std::size_t tried = 4;
  std::vector<const FittedCause*> likely;
  for (const FittedCause& cause : causes) {
    const Hypothesis& one = cause.hypothesis;
    const bool is_known = std::any_of(likely.begin(), likely.end(), [&](const FittedCause* each) {
      const Hypothesis& other = each->hypothesis;
      return one.cause == other.cause || (!one.effect.empty() && one.effect == other.effect);
    });
    if (!is_known && likely.size() < tried) likely.push_back(&cause);
  }
  return likely;
}

/// The best values of two causes at once, one after the other, each with the best of the other so
/// far.
std::optional<FittedCause> fit_pair(const Fit& fit, const FittedCause& one,
                                    const FittedCause& other) {
  std::optional<FittedCause> best;
  double x = one.value;
  double y = other.value;
  const auto consider = [&](double a, double b) {
    auto fitted = fit.screen(joined(one, other, a, b));
    if (!fitted || (best && best->log_likelihood >= fitted->log_likelihood)) return;
    best = std::move(fitted);
    x = a;
    y = b;
  };
  constexpr int rounds = 2;
  for (int round = 0; round < rounds; ++round) {
    for (const double value : values_of(one)) consider(value, y);
    for (const double value : values_of(other)) consider(x, value);
  }
  return best;
}

/// Two causes at once, where no single one explains the times.
std::optional<FittedCause> fit_two(const Fit& fit, const std::vector<FittedCause>& causes) {
  constexpr double unexplained = 0.12;  // of a single cause
  if (causes.empty() || fit.large_residual(causes.front()) < unexplained) return std::nullopt;
  const std::vector<const FittedCause*> likely = likely_causes(causes);
  std::optional<FittedCause> best;
  for (std::size_t i = 0; i < likely.size(); ++i) {
    for (std::size_t j = i + 1; j < likely.size(); ++j) {
      auto fitted = fit_pair(fit, *likely[i], *likely[j]);
      const bool is_better = fitted && (!best || score_of(*fitted) > score_of(*best));
      if (is_better) best = std::move(fitted);
    }
  }
  if (!best || score_of(*best) < score_of(causes.front())) return std::nullopt;
  return fit.simulate(*best);
}

}  // namespace

std::vector<FittedCause> fit_causes(const Predictor& predictor,
                                    const std::vector<Hypothesis>& hypotheses,
                                    const std::vector<PointIndex>& points, const Spread& spread,
                                    const FitEffort& effort) {
  const Fit fit(predictor, points, spread, effort);
  std::vector<FittedCause> causes = screen_all(fit, hypotheses);
  simulate_likeliest(fit, effort, causes);
  simulate_finely(fit, causes);
  if (auto two = fit_two(fit, causes)) {
    causes.push_back(std::move(*two));
    sort_by_score(causes);
  }
  return causes;
}

}  // namespace collsim
