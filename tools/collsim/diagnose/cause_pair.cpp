#include "tools/collsim/diagnose/cause_pair.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace collsim {

namespace {

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
  two.destroys = a.destroys || b.destroys;
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
std::optional<FittedCause> fit_pair(const ValueFit& fit, const FittedCause& one,
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

}  // namespace

std::optional<FittedCause> fit_two(const ValueFit& fit, const std::vector<FittedCause>& causes) {
  constexpr double unexplained = 0.12;  // of a single cause
  if (causes.empty() || fit.large_residual(causes.front()) < unexplained) return std::nullopt;
  if (is_shown(causes.front().hypothesis) && fit.explains_most(causes.front())) return std::nullopt;
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

}  // namespace collsim
