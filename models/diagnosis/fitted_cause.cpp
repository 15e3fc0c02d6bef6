#include "models/diagnosis/fitted_cause.h"

#include <algorithm>
#include <cmath>

#include "models/diagnosis/shown_causes.h"

namespace collsim {

namespace {

/// A cause that is off by more than this explains little: it counts a twentieth, so that `none of
/// these` comes before it. But what the log shows did happen. Chosen.
constexpr double max_misfit = 0.3;
constexpr double misfit_price = 3;

}  // namespace

double prior_of(const FittedCause& cause) {
  const Hypothesis& hypothesis = cause.hypothesis;
  const double of_value = hypothesis.parameter ? prior_of(*hypothesis.parameter, cause.value) : 0;
  return std::log(hypothesis.weight) + of_value;
}

double score_of(const FittedCause& cause) {
  // A fitted value can follow noise: it must earn what it adds (half of Akaike's criterion).
  const double price = fitted_numbers(cause.hypothesis);
  const bool explains_little = cause.residual > max_misfit && !is_shown(cause.hypothesis);
  return cause.log_likelihood + prior_of(cause) + std::log(cause.hypothesis.place_share) - price -
         (explains_little ? misfit_price : 0);
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
