// The likelihood of residuals, the verdict on a run, groups of causes.

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tools/collsim/diagnose/diagnosis.h"

namespace collsim {
namespace {

/// Eight of ten times lie within 1.2816 deviations: of large calls a deviation is 0.14826, of small
/// ones twice as much.
Spread simple_spread() {
  const auto range = [](double deviation) {
    return ErrorRange{std::exp(-1.2816 * deviation), std::exp(1.2816 * deviation)};
  };
  Spread spread;
  spread.ranges.ends = {Bytes{16 << 20}};
  spread.ranges.classes = {{Trust::derived, "any", {range(0.29652), range(0.14826)}, 1, 1}};
  spread.bands = {{Bytes{1024}, 0.03}};
  spread.rest = 0.01;
  return spread;
}

// With noise of 0.01 a deviation of 0.14826 is hypot(0.14826, 0.01) = 0.148597.
TEST(Spread, is_the_prediction_s_error_and_noise) {
  const Spread spread = simple_spread();
  EXPECT_NEAR(spread.sided_error(Trust::derived, {}, Bytes{64 << 20}).slower, 0.14826, 1e-9);
  EXPECT_NEAR(spread.sided_error(Trust::derived, {}, Bytes{8}).slower, 0.29652, 1e-9);
  EXPECT_DOUBLE_EQ(spread.noise(Bytes{1023}), 0.03);
  EXPECT_DOUBLE_EQ(spread.noise(Bytes{1024}), 0.01);
  EXPECT_NEAR(spread.slower(Trust::derived, {}, Bytes{64 << 20}), 0.148597, 1e-6);
}

/// Nine of ten large calls are at most 1.5 times as slow as predicted, small ones 1.2 times.
Spread spread_with_ranges() {
  Spread spread = simple_spread();
  spread.rest = 0;
  spread.ranges.classes = {{Trust::derived, "any", {{0.9, 1.2}, {0.9, 1.5}}, 1, 1}};
  return spread;
}

// A tenth of a normal distribution is beyond 1.2816 deviations, a twentieth beyond 1.645: an alarm
// is 1.2836 times as far away as the end of the range.
TEST(Spread, is_the_slow_end_of_the_range_of_such_predictions) {
  const Spread spread = spread_with_ranges();
  constexpr Bytes call{64 << 20};
  EXPECT_NEAR(spread.healthy(Trust::derived, {"nvlink"}, call), std::log(1.5), 1e-9);
  EXPECT_NEAR(spread.alarm(Trust::derived, {"nvlink"}, call), 1.2836 * std::log(1.5), 1e-4);
  EXPECT_NEAR(widened(spread, 2).healthy(Trust::derived, {"nvlink"}, call), 2 * std::log(1.5),
              1e-9);
}

// Nine of ten are below 1.5 times and above 0.9 times what is predicted, each 1.2816 deviations
// away. Of exact predictions both sides are what rounding leaves.
TEST(Spread, has_two_sides) {
  const Spread spread = spread_with_ranges();
  constexpr Bytes call{64 << 20};
  const SidedError nvlink = spread.sided_error(Trust::derived, {"nvlink"}, call);
  EXPECT_NEAR(nvlink.slower, std::log(1.5) / 1.2816, 1e-9);
  EXPECT_NEAR(nvlink.faster, -std::log(0.9) / 1.2816, 1e-9);
  const SidedError exact = spread.sided_error(Trust::exact, {"nvlink"}, call);
  EXPECT_DOUBLE_EQ(exact.slower, 0.005);
  EXPECT_DOUBLE_EQ(exact.faster, 0.005);
}

// Two sizes of RoCE, say, that may take 2.7 times as long as predicted but no less than 0.9: as far
// off to the fast side is far less likely.
TEST(LogLikelihood, is_less_on_the_narrow_side) {
  Spread spread = simple_spread();
  spread.ranges.ends = {};
  spread.ranges.classes = {{Trust::guessed, "any", {{0.9, 2.7}}, 1, 1}};
  const std::vector<ResidualPlace> places{{Bytes{64 << 20}, Trust::guessed, 0},
                                          {Bytes{256 << 20}, Trust::guessed, 0}};
  EXPECT_GT(log_likelihood(std::vector{0.6, 0.6}, places, spread),
            log_likelihood(std::vector{-0.6, -0.6}, places, spread) + 3);
}

// 1.2 times to the power of 2.7 / 1.2816 is 1.47, less than 2.5.
TEST(Spread, of_small_calls_raises_no_alarm_below_two_and_a_half_times) {
  EXPECT_NEAR(spread_with_ranges().alarm(Trust::derived, {"nvlink"}, Bytes{64 << 10}),
              std::log(2.5), 1e-9);
}

// One residual r with variance v: v^(-1/2) (1 + r^2 / (5 v))^-3, of 0.95 times the class's width,
// 0.01 times a third, 0.03 times a tenth and 0.01 times 0.03 of it; a fitted number takes the width
// as a factor.
TEST(LogLikelihood, of_one_residual) {
  const Spread spread = simple_spread();
  const std::vector<double> residuals{0.3};
  const std::vector<ResidualPlace> places{{Bytes{64 << 20}, Trust::derived, 0}};
  const auto density = [](double times) {
    const double variance = std::pow(times * 0.14826, 2) + 0.01 * 0.01;
    return std::pow(variance, -0.5) * std::pow(1 + 0.09 / (5 * variance), -3);
  };
  EXPECT_NEAR(log_likelihood(residuals, places, spread),
              std::log(0.95 * density(1) + 0.01 * density(1.0 / 3) + 0.03 * density(0.1) +
                       0.01 * density(0.03)),
              1e-9);
  EXPECT_NEAR(log_likelihood(residuals, places, spread, 1),
              std::log(0.95 * density(1) + 0.01 / 3 * density(1.0 / 3) + 0.003 * density(0.1) +
                       0.0003 * density(0.03)),
              1e-9);
}

// Four exact predictions, of which one time is off by 8 %: eight times the noise of 1 %. As an
// outlier it has 5 % of noise and costs log(9) by its odds, about log(5 / 1.1) by its width, and
// 4.5 log(1 + 0.08^2 / (5 (0.05^2 + 0.005^2))) = 1.8: 5.6 in all. Without outliers, it costs
// 4.5 log(1 + 0.08^2 / (5 (0.01^2 + 0.005^2))) = 10.9.
TEST(LogLikelihood, takes_a_time_that_is_far_off_for_noise) {
  Spread spread = simple_spread();
  std::vector<ResidualPlace> places;
  for (const std::int64_t mib : {1, 64, 4096, 262144}) {
    places.push_back({Bytes{mib << 20}, Trust::exact, 0});
  }
  const std::vector<double> as_expected(4, 0.0);
  const std::vector<double> one_off{0, 0, 0.08, 0};
  const auto cost = [&] {
    return log_likelihood(as_expected, places, spread) - log_likelihood(one_off, places, spread);
  };
  EXPECT_GT(cost(), 8);
  spread.outliers = {0.1, 5};
  EXPECT_LT(cost(), 6.5);
}

// Eight exact predictions, of which one time was disturbed and took a sixth of it. By noise of 1 %
// and an error of 0.5 % it costs 6.5 log(1 + 1.8^2 / (5 * 1.25e-4)) = 55.6. As a disturbed one it
// costs log(0.985 / 0.015) = 4.2 by its odds, log(1 / 0.0112) = 4.5 by its width, and 6.5 log(1
// + 1.8^2 / 5) = 3.2: 11.9, and hardly more if it were ten times as far off as noise.
TEST(LogLikelihood, takes_a_time_that_is_any_for_disturbed) {
  Spread spread = simple_spread();
  spread.outliers = {0.1, 5};
  std::vector<ResidualPlace> places;
  for (std::int64_t mib = 1; places.size() < 8; mib *= 64) {
    places.push_back({Bytes{mib << 10}, Trust::exact, 0});
  }
  const std::vector<double> as_expected(8, 0.0);
  std::vector<double> one_off = as_expected;
  one_off[3] = -1.8;
  const auto cost = [&] {
    return log_likelihood(as_expected, places, spread) - log_likelihood(one_off, places, spread);
  };
  EXPECT_GT(cost(), 20);
  spread.disturbed = {0.015, 1};
  EXPECT_LT(cost(), 13);
}

// Of eight residuals two do not count, of three all do.
TEST(Misfit, leaves_out_the_quarter_that_is_farthest_off) {
  EXPECT_NEAR(misfit_of({0.1, -0.1, 0.1, 0.1, -0.1, 0.1, -1.8, 0.9}), 0.1, 1e-9);
  EXPECT_NEAR(misfit_of({0, 0.3, 0}), 0.3 / std::sqrt(3), 1e-9);
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

// Two in a row are noise; three are a protocol that meets what is slow, even where the middle size
// is healthy.
TEST(VerdictOfLog, is_low_where_three_small_sizes_in_a_row_are) {
  constexpr int count = 7;
  std::vector<DiagnosedSize> sizes;
  sizes.reserve(count);
  for (int i = 0; i < count; ++i) sizes.push_back(size_of(1024LL << i, i < 2 ? 5 : 1));
  EXPECT_EQ(verdict_of(sizes), Verdict::healthy);
  sizes[2].point.measured = Seconds{5};
  EXPECT_EQ(verdict_of(sizes), Verdict::low);
}

// One low size of three is not the middle one; but it has 0.55 of what a smaller size gets, and
// predictions err alike for both.
// One port of many at half its rate: rings of the largest sizes meet it, trees of the others do
// not.
TEST(VerdictOfLog, is_low_where_three_large_sizes_in_a_row_are) {
  const auto with_low = [](std::size_t low) {
    std::vector<DiagnosedSize> sizes;
    for (std::size_t i = 0; i < 13; ++i) {
      sizes.push_back(size_of(std::int64_t{1 << 20} << i, i + low < 13 ? 1.0 : 1 / 0.6));
    }
    return verdict_of(sizes);
  };
  EXPECT_EQ(with_low(3), Verdict::low);
  EXPECT_EQ(with_low(2), Verdict::healthy);
}

TEST(VerdictOfLog, is_low_where_busbw_falls_with_the_size) {
  const std::vector<DiagnosedSize> falling{size_of(large, 1), size_of(2 * large, 1),
                                           size_of(4 * large, 1 / 0.55)};
  EXPECT_EQ(verdict_of(falling), Verdict::low);
  const auto fall = fall_of({&falling[0], &falling[1], &falling[2]});
  ASSERT_TRUE(fall);
  EXPECT_EQ(fall->to, &falling[2]);
  // Down to 0.8, or from what is faster than expected to what is as fast, is none.
  EXPECT_EQ(verdict_of({size_of(large, 1), size_of(2 * large, 1 / 0.8)}), Verdict::healthy);
  EXPECT_EQ(verdict_of({size_of(large, 1 / 1.3), size_of(2 * large, 1 / 0.9)}), Verdict::healthy);
  const std::vector<DiagnosedSize> from_too_fast{size_of(large, 1 / 1.6),
                                                 size_of(2 * large, 1 / 0.62)};
  EXPECT_FALSE(fall_of({&from_too_fast[0], &from_too_fast[1]}));
}

// A time of eight times as long in one place, beside one that is as expected, was disturbed: both
// places are the same work.
TEST(VerdictOfLog, is_healthy_where_busbw_falls_in_one_place_alone) {
  std::vector<DiagnosedSize> sizes{size_of(large, 1), size_of(2 * large, 1), size_of(2 * large, 8)};
  sizes[1].point.places = sizes[2].point.places = {Seconds{1}, Seconds{8}};
  sizes[1].point.in_place = false;
  sizes[2].point.in_place = true;
  EXPECT_EQ(verdict_of(sizes), Verdict::healthy);
  sizes[1].point.measured = Seconds{4};
  sizes[1].point.places = sizes[2].point.places = {Seconds{4}, Seconds{8}};
  EXPECT_EQ(verdict_of(sizes), Verdict::low);
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

// The range of a class can be so wide that a quarter of what is expected is within it. From two
// thirds on a size is healthy; from there to the limit one cannot tell.
TEST(VerdictOfSize, of_less_than_two_thirds_cannot_be_told) {
  DiagnosedSize size = size_of(large, 1);
  size.spread = std::log(4);
  const auto verdict_at = [&](double ratio) {
    size.point.measured = Seconds{1 / ratio};
    size.point.fastest = size.point.measured;
    return verdict_of(size);
  };
  EXPECT_EQ(verdict_at(0.67), Verdict::healthy);
  EXPECT_EQ(verdict_at(0.66), Verdict::cannot_tell);
  EXPECT_EQ(verdict_at(0.26), Verdict::cannot_tell);
  EXPECT_EQ(verdict_at(0.24), Verdict::low);
}

// By the rules of another release 0.44 may be as good as it gets, but nobody knows that it is: only
// the limit of what is low is lower, not that of what is healthy, 1 / 1.5.
TEST(VerdictOfSize, by_rules_of_another_release_cannot_be_told_below_the_limit) {
  DiagnosedSize size = size_of(large, 1 / 0.64);
  size.alarm = std::log(1 / 0.44);
  size.point.fastest = size.point.measured;
  EXPECT_DOUBLE_EQ(size.limit(), 0.44);
  EXPECT_EQ(verdict_of(size), Verdict::cannot_tell);
  EXPECT_EQ(verdict_of(std::vector{size}), Verdict::cannot_tell);
  size.point.measured = Seconds{1 / 0.43};
  EXPECT_EQ(verdict_of(size), Verdict::low);
  size.point.measured = Seconds{1 / 0.67};
  EXPECT_EQ(verdict_of(size), Verdict::healthy);
}

// 1.76 times what is expected is no spread, whatever the release.
TEST(VerdictOfSize, far_above_what_is_expected_is_another_machine) {
  DiagnosedSize size = size_of(large, 1 / 1.76);
  size.alarm = std::log(2.3);
  size.point.fastest = size.point.measured;
  EXPECT_EQ(verdict_of(size), Verdict::not_this_machine);
  EXPECT_EQ(verdict_of(std::vector{size}), Verdict::not_this_machine);
  size.point.measured = size.point.fastest = Seconds{1 / 1.49};
  EXPECT_EQ(verdict_of(size), Verdict::healthy);
}

// Large sizes decide: small ones depend on CPUs. But small ones that are low count.
TEST(VerdictOfLog, of_which_large_sizes_are_healthy_is_healthy) {
  std::vector<DiagnosedSize> sizes{size_of(small, 1), size_of(large, 1)};
  sizes[0].spread = std::log(4);
  sizes[0].point.measured = Seconds{3};
  EXPECT_EQ(verdict_of(sizes), Verdict::healthy);
  sizes[0].point.measured = Seconds{5};
  EXPECT_EQ(verdict_of(sizes), Verdict::low);
}

TEST(Verdicts, have_the_documented_names) {
  std::vector<std::string> names;
  names.reserve(all_verdicts.size());
  for (const Verdict verdict : all_verdicts) names.emplace_back(to_string(verdict));
  EXPECT_EQ(names, (std::vector<std::string>{"healthy", "cannot tell", "low", "not this machine",
                                             "impossible", "wrong data"}));
}

FittedCause cause_of(const std::string& name, std::vector<double> log_times, double score) {
  FittedCause cause;
  cause.hypothesis.cause = name;
  cause.predicted.log_times = std::move(log_times);
  cause.log_likelihood = score;
  return cause;
}

// a and b differ by 0.02, less than a twentieth, c by 0.5. Of a, b, c, healthy and none, exp(0),
// exp(-0.5), exp(-1), exp(-2) and exp(-3) add up to 2.159532; a group has those of its causes.
TEST(CauseGroups, hold_causes_that_predict_the_same) {
  const Posterior all = posterior_of(
      {cause_of("a", {1, 2}, 0), cause_of("b", {1.02, 2}, -0.5), cause_of("c", {1.5, 2}, -1)},
      {-2, -3});
  const auto& groups = all.causes;
  ASSERT_EQ(groups.size(), 2U);
  ASSERT_EQ(groups[0].causes.size(), 2U);
  EXPECT_EQ(groups[0].causes[1].hypothesis.cause, "b");
  EXPECT_NEAR(groups[0].likelihood, 1.606531 / 2.159532, 1e-6);
  EXPECT_NEAR(groups[1].likelihood, 0.367879 / 2.159532, 1e-6);
  EXPECT_NEAR(all.healthy, 0.135335 / 2.159532, 1e-6);
  EXPECT_NEAR(all.none, 0.049787 / 2.159532, 1e-6);
}

// n ways of one fault, of which each is as likely as nothing wrong, have n / (n + 1) together: in
// places that differ, and beside questions about the machine. Another fault is another answer.
TEST(CauseGroups, count_all_ways_of_one_fault) {
  for (int count = 1; count <= 10; ++count) {
    std::vector<FittedCause> ways;
    for (int i = 0; i < count; ++i) {
      ways.push_back(cause_of(i % 2 == 0 ? "a" : "question+a", {1.0 + i}, 0));
      if (i % 2 == 1) ways.back().hypothesis.beside = "a";
    }
    const double sum = count + 1;
    const Posterior alone = posterior_of(ways, {0, -100});
    ASSERT_EQ(alone.causes.size(), 1U) << count;
    EXPECT_NEAR(alone.causes[0].likelihood, count / sum, 1e-9) << count;
    EXPECT_NEAR(alone.healthy, 1 / sum, 1e-9) << count;
    ways.push_back(cause_of("b", {0.5}, 0));
    const Posterior both = posterior_of(ways, {0, -100});
    ASSERT_EQ(both.causes.size(), 2U) << count;
    EXPECT_NEAR(both.causes[0].likelihood, count / (sum + 1), 1e-9) << count;
  }
}

// Of a cause that leaves 15 % something unknown beside it is a quarter as likely, (0.15 / 0.3)^2,
// so that it has 1 / 1.25; from 30 % on as likely, so that it has no more than a half.
TEST(CauseGroups, a_misfit_costs) {
  const auto likelihood_at = [](double residual) {
    FittedCause cause = cause_of("a", {1}, 0);
    cause.residual = residual;
    return posterior_of({cause}, {-100, -100}).causes.front().likelihood;
  };
  EXPECT_NEAR(likelihood_at(0), 1, 1e-9);
  EXPECT_NEAR(likelihood_at(0.15), 0.8, 1e-9);
  EXPECT_NEAR(likelihood_at(0.3), 0.5, 1e-6);
  EXPECT_NEAR(likelihood_at(2), 0.5, 1e-6);
}

/// What is left of 1 is one cause's.
Posterior posterior_with(double healthy, double none, bool is_question = false) {
  Posterior all;
  all.causes = {{{cause_of("a", {1}, 0)}, 1 - healthy - none}};
  all.causes.front().causes.front().hypothesis.is_question = is_question;
  all.healthy = healthy;
  all.none = none;
  return all;
}

// Of sizes that are low, a log is low from a twentieth on downwards, and says why it is not.
TEST(Ruling, is_low_only_where_healthy_is_unlikely) {
  EXPECT_EQ(judge(Verdict::low, false, posterior_with(0.049, 0)).verdict, Verdict::low);
  EXPECT_EQ(judge(Verdict::low, false, posterior_with(0.049, 0)).reason, "");
  const Ruling fine = judge(Verdict::low, false, posterior_with(0.051, 0.2));
  EXPECT_EQ(fine.verdict, Verdict::cannot_tell);
  EXPECT_NE(fine.reason.find("nothing is wrong with 5 %"), std::string::npos) << fine.reason;
  // However unlikely, sizes within their limits make no log low, unless it shows its cause.
  EXPECT_EQ(judge(Verdict::cannot_tell, false, posterior_with(0, 0)).verdict, Verdict::cannot_tell);
  EXPECT_EQ(judge(Verdict::cannot_tell, true, posterior_with(0, 0)).verdict, Verdict::low);
  EXPECT_EQ(judge(Verdict::healthy, false, posterior_with(0.51, 0)).verdict, Verdict::healthy);
  EXPECT_EQ(judge(Verdict::healthy, false, posterior_with(0.49, 0)).verdict, Verdict::cannot_tell);
}

// Where no cause could be fitted, nothing or something unknown made the log.
TEST(Ruling, needs_no_causes) {
  EXPECT_EQ(judge(Verdict::low, true, {{}, 0.6, 0.4}).verdict, Verdict::cannot_tell);
  EXPECT_EQ(judge(Verdict::low, true, {{}, 0.02, 0.98}).verdict, Verdict::low);
}

// Another machine than was guessed is no fault; but it has to explain the times.
TEST(Ruling, is_healthy_where_another_machine_explains_the_log) {
  Posterior all = posterior_with(0.1, 0.1, true);
  EXPECT_NEAR(all.fine(), 0.9, 1e-12);
  const Ruling other = judge(Verdict::low, false, all);
  EXPECT_EQ(other.verdict, Verdict::healthy);
  EXPECT_EQ(other.reason.find("as it should be if "), 0U) << other.reason;
  all = posterior_with(0.05, 0.5, true);
  EXPECT_EQ(judge(Verdict::low, false, all).verdict, Verdict::cannot_tell);
}

// Nothing is to be cured where `none of these` is likelier than the first cause.
TEST(LikeliestCause, is_none_where_none_of_them_is_likelier) {
  Diagnosis diagnosis;
  EXPECT_EQ(likeliest_cause(diagnosis), nullptr);
  diagnosis.causes.push_back({{cause_of("slow-port", {0}, 0)}, 0.04});
  diagnosis.likelihood_of_none = 0.93;
  EXPECT_EQ(likeliest_cause(diagnosis), nullptr);
  diagnosis.causes.front().likelihood = 0.94;
  EXPECT_EQ(likeliest_cause(diagnosis)->hypothesis.cause, "slow-port");
  diagnosis.likelihood_of_healthy = 0.95;
  EXPECT_EQ(likeliest_cause(diagnosis), nullptr);
}

// What a changed machine cannot do is a value; a bug is not.
TEST(IfPossible, lets_bugs_go_on) {
  EXPECT_EQ(if_possible([] { return 1; }), 1);
  EXPECT_FALSE(if_possible([]() -> int { throw InputError("no way", "a machine with one"); }));
  EXPECT_FALSE(if_possible([]() -> int { throw HangError(0, 0, 0, "waits"); }));
  EXPECT_THROW(if_possible([]() -> int { throw std::logic_error("below its bound"); }),
               std::logic_error);
}

// A share of host memory's rate is usually 0.5 to 1, a tenth of all cases apart. Beside a value
// that may be anywhere from 0.02 to 0.85, so ln(42.5) = 3.7495 wide, a usual one is likelier by 0.1
// + 0.9 * 3.7495 / ln(2) = 4.9684 times, others by 0.1.
TEST(CauseGroups, favour_usual_values) {
  CauseParameter parameter{"at {}", {0.1, 1}, true, 1, std::pair(0.5, 1.0)};
  EXPECT_NEAR(prior_of(parameter, 0.855), std::log(4.9684), 1e-4);
  EXPECT_NEAR(prior_of(parameter, 0.3), std::log(0.1), 1e-12);
  parameter.usual.reset();
  EXPECT_DOUBLE_EQ(prior_of(parameter, 0.3), 0);
}

// A cause with a fitted value must be a whole unit of log-likelihood better, and of more than seven
// times by half of the logarithm of their number: of 16 by 1.3863.
TEST(CauseGroups, price_a_fitted_value) {
  FittedCause cause = cause_of("a", {1}, 3);
  EXPECT_DOUBLE_EQ(score_of(cause), 3);
  cause.hypothesis.parameter = CauseParameter{"at {}", {1}};
  EXPECT_DOUBLE_EQ(score_of(cause), 2);
  cause.predicted.log_times.assign(16, 1);
  EXPECT_NEAR(score_of(cause), 3 - 1.3863, 1e-4);
}

}  // namespace
}  // namespace collsim
