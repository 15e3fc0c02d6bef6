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

/// A size of a call that takes so many times as long as expected; from 1.5 times on it is low.
DiagnosedSize size_of(std::int64_t bytes, double slower, std::size_t series = 0) {
  DiagnosedSize size;
  size.series = series;
  size.point.size.count = bytes;
  size.point.measured = Seconds{slower};
  size.expected = Seconds{1};
  size.spread = std::log(1.5);
  return size;
}

constexpr std::int64_t small = 1 << 20;
constexpr std::int64_t large = 64 << 20;

TEST(VerdictOfLog, is_low_where_the_middle_of_large_or_of_small_sizes_is) {
  EXPECT_EQ(
      verdict_of({size_of(small, 1), size_of(large, 2), size_of(large, 2), size_of(large, 1)}),
      Verdict::low);
  EXPECT_EQ(verdict_of({size_of(small, 2), size_of(large, 1)}), Verdict::low);
  EXPECT_EQ(
      verdict_of({size_of(small, 9), size_of(small, 1), size_of(small, 1), size_of(large, 1)}),
      Verdict::healthy);
}

// A ratio of 1 / 2 is log(2) / log(1.5) = 1.7095 of what is still healthy. Of a machine that is
// known without any error, 5 % are.
TEST(VerdictOfLog, goes_by_slowness) {
  EXPECT_NEAR(size_of(large, 2).slowness(), 1.7095, 1e-4);
  DiagnosedSize exact = size_of(large, 1.04);
  exact.spread = 0;
  EXPECT_LT(exact.slowness(), 1);
}

// One of eight is less, two are as many.
TEST(VerdictOfLog, of_many_calls_is_low_where_one_in_four_is) {
  std::vector<DiagnosedSize> sizes;
  for (std::size_t call = 0; call < 8; ++call) sizes.push_back(size_of(large, 1, call));
  sizes[0].point.measured = Seconds{2};
  EXPECT_EQ(verdict_of(sizes), Verdict::healthy);
  sizes[1].point.measured = Seconds{2};
  EXPECT_EQ(verdict_of(sizes), Verdict::low);
}

TEST(VerdictOfLog, is_the_worst_that_any_size_has) {
  std::vector<DiagnosedSize> sizes{size_of(large, 2), size_of(large, 1)};
  sizes[1].verdict = Verdict::impossible;
  EXPECT_EQ(verdict_of(sizes), Verdict::impossible);
  sizes[0].verdict = Verdict::wrong;
  EXPECT_EQ(verdict_of(sizes), Verdict::wrong);
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
