#include "tools/collsim/diagnose/fitted_cause.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "tools/collsim/diagnose/spread.h"

namespace collsim {

std::vector<double> ValueCurve::log_times(double value) const {
  const auto exact = known_.find(value);
  if (exact != known_.end()) return exact->second.log_times;
  if (known_.size() == 1) return known_.begin()->second.log_times;
  auto above = known_.upper_bound(value);
  if (above == known_.begin()) ++above;
  if (above == known_.end()) --above;
  const auto& [low, slow] = *std::prev(above);
  const auto& [high, fast] = *above;
  const auto along = [&](double at) { return is_share_ ? 1 / at : at; };
  const double part = (along(value) - along(low)) / (along(high) - along(low));
  std::vector<double> times = slow.log_times;
  constexpr double least = 0.1;  // of the nearer time, beyond what is known
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double growth = std::exp(fast.log_times[i] - slow.log_times[i]) - 1;
    times[i] += std::log(std::max(least, 1 + part * growth));
  }
  return times;
}

std::vector<double> ValueCurve::grid(double least, double most, int between) const {
  std::vector<double> values;
  const auto add = [&](double from, double to) {
    if (to <= from) return;
    for (int i = 0; i <= between; ++i) {
      values.push_back(from * std::pow(to / from, static_cast<double>(i) / (between + 1)));
    }
  };
  constexpr double beyond = 2;
  const double first = known_.begin()->first;
  const double last = known_.rbegin()->first;
  add(std::max(least, first / beyond), first);
  for (auto low = known_.begin(); std::next(low) != known_.end(); ++low) {
    add(low->first, std::next(low)->first);
  }
  values.push_back(last);
  if (const double end = std::min(most, beyond * last); end > last) {
    add(last, end);
    values.push_back(end);
  }
  return values;
}

double prior_of(const FittedCause& cause) {
  const Hypothesis& hypothesis = cause.hypothesis;
  const double of_value = hypothesis.parameter ? prior_of(*hypothesis.parameter, cause.value) : 0;
  return std::log(hypothesis.weight) + of_value;
}

double score_of(const FittedCause& cause) {
  // A fitted value can follow noise: it must earn what it adds, by Akaike's criterion, or Schwarz's
  // where that asks for more.
  const auto points = static_cast<double>(cause.predicted.log_times.size());
  const double price = fitted_numbers(cause.hypothesis) * std::max(1.0, 0.5 * std::log(points));
  return cause.log_likelihood + prior_of(cause) + std::log(cause.hypothesis.place_share) - price;
}

double share_of_unknown(const FittedCause& cause) {
  // Chosen: a cause that leaves so much is as likely half of the answer as all of it. A tie is the
  // cause's.
  constexpr double even = 0.3;
  constexpr double tie = 1 - 1e-9;
  return std::min(tie, std::pow(cause.residual / even, 2));
}

double misfit_of(const std::vector<double>& residuals) {
  std::vector<double> squares;
  squares.reserve(residuals.size());
  for (const double residual : residuals) squares.push_back(residual * residual);
  std::sort(squares.begin(), squares.end());
  squares.resize(squares.size() - squares.size() / one_far_off_in);
  const double sum = std::accumulate(squares.begin(), squares.end(), 0.0);
  return std::sqrt(sum / static_cast<double>(squares.size()));
}

bool predict_the_same(const FittedCause& a, const FittedCause& b) {
  constexpr double apart = 0.05;
  for (std::size_t i = 0; i < a.predicted.log_times.size(); ++i) {
    if (std::abs(a.predicted.log_times[i] - b.predicted.log_times[i]) > apart) return false;
  }
  return true;
}

void sort_by_score(std::vector<FittedCause>& causes) {
  std::stable_sort(causes.begin(), causes.end(), [](const FittedCause& a, const FittedCause& b) {
    return score_of(a) > score_of(b);
  });
}

}  // namespace collsim
