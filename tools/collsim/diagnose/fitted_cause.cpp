#include "tools/collsim/diagnose/fitted_cause.h"

#include <algorithm>
#include <cmath>

namespace collsim {

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

double score_of_rest(const FittedCause& cause) {
  return score_of(cause) - cause.log_likelihood + cause.log_likelihood_of_rest;
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
