#include "tools/collsim/diagnose/cause_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/collsim/diagnose/log_predictor.h"
#include "tools/collsim/diagnose/value_fit.h"

namespace collsim {

namespace {

/// Places that play one part in a call.
struct Part {
  std::vector<const CausePlace*> places;
  std::vector<double> log_times;
};
constexpr std::size_t max_parts = 16;

/// Whether two places make every size equally slow, up to what two estimates differ by.
bool agree(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double alike = 0.02;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > alike) return false;
  }
  return true;
}

/// What makes a part far slower: the milder, the more places look alike.
double severe_value(const CauseParameter& parameter) {
  return parameter.values[parameter.values.size() / 4];
}

Hypothesis in_place(Hypothesis hypothesis, const std::vector<const CausePlace*>& alike,
                    double share) {
  const CausePlace place = *alike.front();
  hypothesis.place = place.name;
  hypothesis.change = place.change;
  hypothesis.place_share = share;
  for (const CausePlace* each : alike) hypothesis.alike.push_back(each->name);
  hypothesis.places.clear();
  return hypothesis;
}

/// A cause that cannot be estimated, in the first and the last of its places.
std::vector<Hypothesis> ends_of(const Hypothesis& hypothesis) {
  constexpr double share = 0.5;
  return {in_place(hypothesis, {&hypothesis.places.front()}, share),
          in_place(hypothesis, {&hypothesis.places.back()}, share)};
}

/// Every so many points, the first and the last among them: enough to tell parts apart.
std::vector<PointIndex> few_of(const std::vector<PointIndex>& points) {
  constexpr std::size_t few = 6;
  if (points.size() <= few) return points;
  std::vector<PointIndex> some;
  for (std::size_t i = 0; i < few; ++i) some.push_back(points[i * (points.size() - 1) / (few - 1)]);
  return some;
}

/// Splits a cause by the parts that its places play in the calls of the points, the commonest
/// first: places whose estimates agree play the same one, and a part has the weight of its places.
/// A cause that no estimate takes is tried in its first and its last place.
std::vector<Hypothesis> parts_of(const Hypothesis& hypothesis, const LogPredictor& predictor,
                                 const std::vector<PointIndex>& points) {
  if (hypothesis.places.size() < 2) return {hypothesis};
  const double value = hypothesis.parameter ? severe_value(*hypothesis.parameter) : 0;
  const std::vector<PointIndex> some = few_of(points);
  std::vector<Part> parts;
  std::size_t count = 0;
  for (const CausePlace& place : hypothesis.places) {
    const auto estimated = predictor.estimate(place.change(value), some);
    if (!estimated) continue;
    ++count;
    const auto same = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
      return agree(part.log_times, estimated->log_times);
    });
    if (same == parts.end()) {
      parts.push_back({{&place}, estimated->log_times});
    } else {
      same->places.push_back(&place);
    }
  }
  if (parts.empty()) return ends_of(hypothesis);
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.places.size() > b.places.size(); });
  if (parts.size() > max_parts) parts.resize(max_parts);
  std::vector<Hypothesis> all;
  all.reserve(parts.size());
  for (const Part& part : parts) {
    all.push_back(in_place(hypothesis, part.places,
                           static_cast<double>(part.places.size()) / static_cast<double>(count)));
  }
  return all;
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
  one.as_measured = one.as_measured || other.as_measured;
  return one;
}

/// Two causes at once, with one value of each.
Hypothesis joined(const FittedCause& one, const FittedCause& other, double value,
                  double other_value) {
  // Chosen: one host in twenty that has a fault has a second one, which may be any of twenty.
  constexpr double rarer = 0.05 / 20;
  const Hypothesis& a = one.hypothesis;
  const Hypothesis& b = other.hypothesis;
  Hypothesis two{
      fmt::format("{}+{}", a.cause, b.cause),
      fmt::format("two at once: {}; and {}", describe(a, value), describe(b, other_value)), a.check,
      std::nullopt,
      [a, b, value, other_value](double) { return both(a.change(value), b.change(other_value)); }};
  two.weight = rarer * a.weight * b.weight;
  // A machine that was guessed wrongly has a fault as often as one that was guessed rightly.
  if (a.is_question || b.is_question) {
    const Hypothesis& fault = a.is_question ? b : a;
    two.weight = fault.weight;
    two.beside = fault.cause;
  }
  two.more_numbers = fitted_numbers(a) + fitted_numbers(b);
  two.place_share = a.place_share * b.place_share;
  two.destroys = a.destroys || b.destroys;
  two.remedy = a.remedy.empty() || b.remedy.empty() ? "" : a.remedy + "; and " + b.remedy;
  return two;
}

/// Whether it makes ranks late or slow.
bool acts_on_ranks(const FittedCause& cause) {
  const MachineFaults faults = cause.hypothesis.change(cause.value).faults;
  return !faults.ranks.empty() || !faults.hosts.empty();
}

using CausePair = std::pair<const FittedCause*, const FittedCause*>;

/// Pairs of the likeliest causes.
std::vector<CausePair> likely_pairs(const std::vector<FittedCause>& causes) {
  constexpr std::size_t tried = 4;
  std::vector<CausePair> pairs;
  std::vector<const FittedCause*> likely;
  add_distinct(causes, tried, likely);
  for (std::size_t i = 0; i < likely.size(); ++i) {
    for (std::size_t j = i + 1; j < likely.size(); ++j) {
      // Ranks that are late and slow have one cause, a GPU that is shared.
      if (acts_on_ranks(*likely[i]) && acts_on_ranks(*likely[j])) continue;
      pairs.emplace_back(likely[i], likely[j]);
    }
  }
  return pairs;
}

/// The likeliest other machine, and the faults that fit best on it; either alone may explain
/// little. None where no machine was guessed.
std::vector<CausePair> pairs_on_other_machine(const ValueFit& fit,
                                              const std::vector<FittedCause>& causes) {
  constexpr std::size_t tried = 4;
  const auto asked = std::find_if(causes.begin(), causes.end(), [](const FittedCause& each) {
    return each.hypothesis.is_question;
  });
  if (asked == causes.end()) return {};
  std::vector<std::pair<double, const FittedCause*>> faults;
  std::vector<const FittedCause*> distinct;
  add_distinct(causes, causes.size(), distinct);
  for (const FittedCause* fault : distinct) {
    if (fault->hypothesis.is_question) continue;
    faults.emplace_back(-fit.best_of_two(*asked, *fault).log_likelihood - prior_of(*fault), fault);
  }
  std::sort(faults.begin(), faults.end());
  faults.resize(std::min(faults.size(), tried));
  std::vector<CausePair> pairs;
  pairs.reserve(faults.size());
  for (const auto& [score, fault] : faults) pairs.emplace_back(&*asked, fault);
  return pairs;
}

/// Fits two causes at once: the best pairs by estimates, simulated. `causes` are sorted by their
/// scores. A fault on another machine than was guessed is as likely as on that one; other pairs are
/// tried where no single cause explains the times, or one that the log shows most of them. None
/// that is far less likely than a single one.
std::vector<FittedCause> fit_two(const ValueFit& fit, const std::vector<FittedCause>& causes) {
  constexpr std::size_t simulated = 4;
  constexpr double unlikely = 3;  // 0.05
  if (causes.empty()) return {};
  const FittedCause& first = causes.front();
  if (is_shown(first.hypothesis) && fit.explains_most(first)) return {};
  std::vector<CausePair> pairs = pairs_on_other_machine(fit, causes);
  if (fit.large_residual(first) >= unexplained_residual) {
    for (const CausePair& pair : likely_pairs(causes)) pairs.push_back(pair);
  }
  std::vector<FittedCause> two;
  for (const auto& [one, other] : pairs) {
    const TwoValues values = fit.best_of_two(*one, *other);
    auto fitted = fit.screen(joined(*one, *other, values.one, values.other));
    if (fitted) two.push_back(std::move(*fitted));
  }
  sort_by_score(two);
  std::erase_if(
      two, [&](const FittedCause& each) { return score_of(each) < score_of(first) - unlikely; });
  two.resize(std::min(two.size(), simulated));
  for (FittedCause& each : two) {
    if (auto better = fit.simulate(each)) each = std::move(*better);
  }
  return two;
}

/// Of a cause, so many parts are simulated: those that estimates favour.
constexpr std::size_t max_parts_simulated = 2;

/// Puts parts that their values make equally slow together, under the likeliest: a log cannot tell
/// where in them a cause acts. They are sorted.
void join_alike(std::vector<FittedCause>& parts) {
  std::vector<FittedCause> joined;
  for (FittedCause& part : parts) {
    const auto found = std::find_if(joined.begin(), joined.end(), [&](const FittedCause& each) {
      return predict_the_same(each, part);
    });
    if (found == joined.end()) {
      joined.push_back(std::move(part));
      continue;
    }
    Hypothesis& first = found->hypothesis;
    first.place_share += part.hypothesis.place_share;
    first.alike.insert(first.alike.end(), part.hypothesis.alike.begin(),
                       part.hypothesis.alike.end());
  }
  parts = std::move(joined);
  sort_by_score(parts);
}

/// The likeliest parts of a cause, by estimates.
std::vector<FittedCause> screened_parts(const ValueFit& fit, const Hypothesis& hypothesis) {
  std::vector<FittedCause> parts;
  for (const Hypothesis& each : parts_of(hypothesis, fit.predictor(), fit.points())) {
    if (auto fitted = fit.screen(each)) parts.push_back(std::move(*fitted));
  }
  sort_by_score(parts);
  join_alike(parts);
  if (parts.size() > max_parts_simulated) parts.resize(max_parts_simulated);
  return parts;
}

/// Every cause by estimates; of those that are simulated alike, one is.
std::vector<FittedCause> screen_all(const ValueFit& fit,
                                    const std::vector<Hypothesis>& hypotheses) {
  std::map<std::string, FittedCause> by_effect;
  std::vector<FittedCause> causes;
  for (const Hypothesis& hypothesis : hypotheses) {
    const auto known = by_effect.find(hypothesis.effect);
    if (!hypothesis.effect.empty() && known != by_effect.end()) {
      causes.push_back(fit.taken_for(known->second, hypothesis));
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

/// Of many ranks less is simulated, but one cause at least. Sends and receives contend for links:
/// one of their messages takes as long as eight of a ring or a tree.
FitEffort effort_of(FitEffort effort, const RecordedCall& call) {
  constexpr std::uint64_t of_contending = 8;
  const double share = share_of_effort(call.ranks);
  const auto part = [share](std::uint64_t all) {
    return static_cast<std::uint64_t>(std::max(1.0, share * static_cast<double>(all)));
  };
  const bool contends = !function_of(call.collective);
  effort.max = part(effort.max);
  effort.finely = static_cast<std::size_t>(std::round(share * static_cast<double>(effort.finely)));
  effort.messages = part(effort.messages) / (contends ? of_contending : 1);
  if (contends) effort.of_one /= of_contending;
  return effort;
}

/// The likeliest by simulation, as far as the effort goes. Those that are simulated alike count as
/// one.
void simulate_likeliest(const ValueFit& fit, const FitEffort& effort,
                        std::vector<FittedCause>& causes) {
  std::map<std::string, FittedCause> by_effect;
  std::uint64_t messages = 0;
  std::size_t count = 0;
  for (FittedCause& cause : causes) {
    const std::string effect = cause.hypothesis.effect;
    const auto known = by_effect.find(effect);
    if (!effect.empty() && known != by_effect.end()) {
      cause = fit.taken_for(known->second, cause.hypothesis);
      continue;
    }
    if (count == effort.max || messages > effort.messages) continue;
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
/// calls can be off by a third where a cause changes what holds them up. The first of all is
/// simulated even where the effort ended before it, at as few sizes as others.
void simulate_finely(const ValueFit& fit, const FitEffort& effort,
                     std::vector<FittedCause>& causes) {
  const std::size_t likeliest = effort.finely;
  const std::size_t most = effort.finely + effort.finely / 2;
  std::set<std::string> done;
  for (std::size_t tries = 0; tries < most; ++tries) {
    std::set<std::string> before_it;
    const auto next = std::find_if(causes.begin(), causes.end(), [&](const FittedCause& cause) {
      const bool is_near = before_it.size() < likeliest;
      const bool is_tried = cause.simulated || before_it.empty();
      before_it.insert(name_of(cause));
      return is_near && is_tried && !done.contains(name_of(cause));
    });
    if (next == causes.end()) return;
    const FittedCause before = *next;
    const auto finer = fit.simulate(before, before.simulated);
    for (FittedCause& cause : causes) {
      if (name_of(cause) != name_of(before)) continue;
      if (finer) cause = fit.taken_for(*finer, cause.hypothesis);
    }
    done.insert(name_of(before));
    sort_by_score(causes);
  }
}

}  // namespace

void add_distinct(const std::vector<FittedCause>& causes, std::size_t most,
                  std::vector<const FittedCause*>& distinct) {
  for (const FittedCause& cause : causes) {
    const Hypothesis& one = cause.hypothesis;
    const auto is_alike = [&](const FittedCause* each) {
      const Hypothesis& other = each->hypothesis;
      return one.cause == other.cause || (!one.effect.empty() && one.effect == other.effect);
    };
    if (distinct.size() == most) return;
    if (std::none_of(distinct.begin(), distinct.end(), is_alike)) distinct.push_back(&cause);
  }
}

std::vector<FittedCause> fit_causes(const LogPredictor& predictor,
                                    const std::vector<Hypothesis>& hypotheses,
                                    const std::vector<PointIndex>& points, const Spread& spread,
                                    const FitEffort& asked) {
  const RecordedCall& call = predictor.evidence().series[points.front().series].call;
  const FitEffort effort = effort_of(asked, call);
  const ValueFit fit(predictor, points, spread, effort.of_one);
  std::vector<FittedCause> causes = screen_all(fit, hypotheses);
  simulate_likeliest(fit, effort, causes);
  if (effort.finely > 0) simulate_finely(fit, effort, causes);
  std::vector<FittedCause> two = fit_two(fit, causes);
  std::move(two.begin(), two.end(), std::back_inserter(causes));
  sort_by_score(causes);
  return causes;
}

}  // namespace collsim
