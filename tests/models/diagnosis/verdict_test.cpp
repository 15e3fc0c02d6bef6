// The likelihood of residuals, the verdict on a run, groups of causes.

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/diagnosis/diagnosis.h"

namespace collsim {
namespace {

Spread simple_spread() {
  Spread spread;
  spread.errors = {{Trust::derived, 0.1, 0.2, ""}};
  spread.bands = {{Bytes{1024}, 0.03}};
  spread.rest = 0.01;
  return spread;
}

// A normal distribution with median absolute value 0.1 has the standard deviation 0.14826; with
// noise of 0.01 it is hypot(0.14826, 0.01) = 0.148597.
TEST(Spread, is_the_model_s_error_and_noise) {
  const Spread spread = simple_spread();
  EXPECT_NEAR(spread.model_error(Trust::derived, Bytes{64 << 20}), 0.14826, 1e-9);
  EXPECT_NEAR(spread.model_error(Trust::derived, Bytes{8}), 0.29652, 1e-9);
  EXPECT_DOUBLE_EQ(spread.noise(Bytes{1023}), 0.03);
  EXPECT_DOUBLE_EQ(spread.noise(Bytes{1024}), 0.01);
  EXPECT_NEAR(spread.total(Trust::derived, Bytes{64 << 20}), 0.148597, 1e-6);
}

// One residual r with variance v: -log(v) / 2 - (5 + 1) / 2 log(1 + r^2 / (5 v)).
TEST(LogLikelihood, of_one_residual) {
  const Spread spread = simple_spread();
  const double variance = 0.14826 * 0.14826 + 0.01 * 0.01;
  const std::vector<double> residuals{0.3};
  const std::vector<ResidualPlace> places{{Bytes{64 << 20}, Trust::derived, 0}};
  EXPECT_NEAR(log_likelihood(residuals, places, spread),
              -0.5 * std::log(variance) - 3 * std::log1p(0.09 / (5 * variance)), 1e-9);
}

// Errors of near sizes are alike: two that are off in the same direction are likelier than two in
// opposite directions.
TEST(LogLikelihood, takes_near_sizes_to_be_off_alike) {
  const Spread spread = simple_spread();
  const std::vector<ResidualPlace> places{{Bytes{64 << 20}, Trust::derived, 0},
                                          {Bytes{128 << 20}, Trust::derived, 0}};
  EXPECT_GT(log_likelihood(std::vector{0.2, 0.2}, places, spread),
            log_likelihood(std::vector{0.2, -0.2}, places, spread) + 1);
}

std::vector<DiagnosedSize> sizes_of(const std::vector<Verdict>& verdicts) {
  std::vector<DiagnosedSize> sizes(verdicts.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i) sizes[i].verdict = verdicts[i];
  return sizes;
}

constexpr Verdict ok = Verdict::healthy;
constexpr Verdict low = Verdict::low;

TEST(VerdictOfRun, is_low_where_three_sizes_together_are) {
  EXPECT_EQ(verdict_of(sizes_of({ok, ok, low, low, low})), Verdict::low);
  EXPECT_EQ(verdict_of(sizes_of({low, low, ok, low, low})), Verdict::healthy);
  EXPECT_EQ(verdict_of(sizes_of({ok, ok, ok})), Verdict::healthy);
}

TEST(VerdictOfRun, of_fewer_sizes_takes_all) {
  EXPECT_EQ(verdict_of(sizes_of({low})), Verdict::low);
  EXPECT_EQ(verdict_of(sizes_of({low, low})), Verdict::low);
  EXPECT_EQ(verdict_of(sizes_of({low, ok})), Verdict::healthy);
}

TEST(VerdictOfRun, is_the_worst_that_any_size_has) {
  EXPECT_EQ(verdict_of(sizes_of({low, low, low, Verdict::impossible})), Verdict::impossible);
  EXPECT_EQ(verdict_of(sizes_of({Verdict::impossible, Verdict::wrong})), Verdict::wrong);
}

FittedCause cause_of(const std::string& name, std::vector<double> log_times, double score) {
  FittedCause cause;
  cause.hypothesis.cause = name;
  cause.predicted.log_times = std::move(log_times);
  cause.log_likelihood = score;
  return cause;
}

// a and b differ by 0.02, less than a twentieth, c by 0.5. Of a, c and none, exp(0), exp(-1) and
// exp(-2) make 1 / 1.503215 and so on; b is counted with a, not beside it.
TEST(CauseGroups, hold_causes_that_predict_the_same) {
  const auto groups = group_causes(
      {cause_of("a", {1, 2}, 0), cause_of("b", {1.02, 2}, -0.5), cause_of("c", {1.5, 2}, -1)}, -2);
  ASSERT_EQ(groups.size(), 2U);
  ASSERT_EQ(groups[0].causes.size(), 2U);
  EXPECT_EQ(groups[0].causes[1].hypothesis.cause, "b");
  EXPECT_NEAR(groups[0].likelihood, 1 / 1.503215, 1e-6);
  EXPECT_NEAR(groups[1].likelihood, 0.367879 / 1.503215, 1e-6);
}

// A cause with a fitted value must be a whole unit of log-likelihood better.
TEST(CauseGroups, price_a_fitted_value) {
  FittedCause cause = cause_of("a", {1}, 3);
  EXPECT_DOUBLE_EQ(score_of(cause), 3);
  cause.hypothesis.parameter = CauseParameter{"at {}", {1}};
  EXPECT_DOUBLE_EQ(score_of(cause), 2);
}

}  // namespace
}  // namespace collsim
