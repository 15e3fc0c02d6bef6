#include "tools/collsim/diagnose/cause_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tools/collsim/diagnose/cause_pair.h"
#include "tools/collsim/diagnose/place_parts.h"
#include "tools/collsim/diagnose/value_fit.h"

namespace collsim {

namespace {

/// Of a cause, the parts that estimates favour: by the values to try, and by those between.
constexpr std::size_t max_parts_refined = 3;
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
  if (parts.size() > max_parts_refined) parts.resize(max_parts_refined);
  for (FittedCause& part : parts) part = fit.refined(std::move(part));
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
/// calls can be off by a third where a cause changes what holds them up. The first of all is
/// simulated even where the effort ended before it, at as few sizes as others.
void simulate_finely(const ValueFit& fit, const FitEffort& effort,
                     std::vector<FittedCause>& causes) {
  constexpr std::size_t likeliest = 6;
  constexpr std::size_t most = 9;
  const bool is_quick = fit.predictor().topology().gpus().size() <= effort.gpus_beyond;
  std::set<std::string> done;
  for (std::size_t tries = 0; tries < most; ++tries) {
    std::set<std::string> before_it;
    const auto next = std::find_if(causes.begin(), causes.end(), [&](const FittedCause& cause) {
      const bool is_near = before_it.size() < likeliest;
      const bool is_tried = cause.simulated || (is_quick && before_it.empty());
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

std::vector<FittedCause> fit_causes(const LogPredictor& predictor,
                                    const std::vector<Hypothesis>& hypotheses,
                                    const std::vector<PointIndex>& points, const Spread& spread,
                                    const FitEffort& effort) {
  const ValueFit fit(predictor, points, spread, effort.of_one);
  std::vector<FittedCause> causes = screen_all(fit, hypotheses);
  simulate_likeliest(fit, effort, causes);
  simulate_finely(fit, effort, causes);
  if (auto two = fit_two(fit, causes)) {
    causes.push_back(std::move(*two));
    sort_by_score(causes);
  }
  for (FittedCause& cause : causes) cause = fit.with_rest(std::move(cause));
  return causes;
}

}  // namespace collsim
