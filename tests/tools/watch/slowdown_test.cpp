// Streams made by seeds, healthy and with a fault: nobody is alarmed without a cause, and a port
// that is slow is told within 60 calls.

#include "tools/collsim/watch/slowdown.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace collsim::command {
namespace {

constexpr int begins_at = 400;  // the call at which a fault begins
constexpr int calls = 2000;

/// How times of a stream scatter, as those of real jobs do.
struct Noise {
  double scatter = 0.03;  ///< of logarithms
  double outliers = 0;    ///< the share of calls that a neighbour delays, up to three times
  double beside = 0;      ///< how much longer every second call takes, beside a product
  double machine = 0;     ///< how far this machine lies from what is expected
};

Noise noise_of(std::mt19937& random) {
  std::uniform_real_distribution<double> share(0, 1);
  return {0.01 + 0.09 * share(random), 0.05 * share(random), share(random) < 0.3 ? 0.2 : 0.0,
          -0.1 + 0.2 * share(random)};
}

/// The number of calls after `begins_at` until the alarm; nothing where there was none. `factor` is
/// what calls take from there on.
std::optional<std::int64_t> alarm_after(std::uint32_t seed, double factor) {
  std::mt19937 random(seed);
  const Noise noise = noise_of(random);
  std::normal_distribution<double> scatter(0, noise.scatter);
  std::uniform_real_distribution<double> share(0, 1);
  SlowdownDetector detector;
  for (int i = 0; i < calls; ++i) {
    double time = noise.machine + scatter(random);
    if (share(random) < noise.outliers) time += std::log(1 + 2 * share(random));
    if (i % 2 == 1) time += std::log1p(noise.beside);
    if (i >= begins_at) time += std::log(factor);
    const auto kind = static_cast<std::uint64_t>(i % 3);
    // Healthy machines keep within e^0.2 of what is expected, so e^0.4 is slow from the start.
    if (detector.add({kind, time, 0.4, i, 0})) return i - begins_at;
  }
  return std::nullopt;
}

TEST(Slowdown, no_healthy_stream_alarms) {
  int alarms = 0;
  for (std::uint32_t seed = 0; seed < 500; ++seed) alarms += alarm_after(seed, 1) ? 1 : 0;
  EXPECT_EQ(alarms, 0);
}

TEST(Slowdown, a_port_at_half_or_two_thirds_of_its_rate_is_told_within_60_calls) {
  for (const double factor : {1.5, 2.0, 4.0}) {
    int late = 0;
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
      const auto after = alarm_after(seed, factor);
      if (!after || *after < 0 || *after > 60) ++late;
    }
    EXPECT_EQ(late, 0) << factor;
  }
}

// What is not worth telling: a twentieth slower.
TEST(Slowdown, a_little_slower_is_none) {
  for (std::uint32_t seed = 0; seed < 100; ++seed) EXPECT_FALSE(alarm_after(seed, 1.04)) << seed;
}

TEST(Slowdown, slow_from_the_first_call_is_told_by_the_eighth_and_once) {
  SlowdownDetector detector;
  for (int i = 1; i <= 7; ++i) EXPECT_FALSE(detector.add({0, std::log(2.0), 0.3, i, 5}));
  const auto told = detector.add({0, std::log(2.0), 0.3, 8, 5});
  ASSERT_TRUE(told);
  EXPECT_TRUE(told->from_the_start);
  EXPECT_NEAR(told->factor, 2, 1e-9);
  EXPECT_EQ(told->since, 1);
  EXPECT_EQ(told->since_us, 5);
  for (int i = 9; i < 200; ++i) EXPECT_FALSE(detector.add({0, std::log(2.0), 0.3, i, 5}));
}

// Since when: the fault begins at call 400, and no call before it was above normal.
TEST(Slowdown, the_first_slow_call_is_named_and_recovery_allows_another_alarm) {
  SlowdownDetector detector;
  const auto feed = [&detector](int from, int to, double ratio) {
    std::optional<Slowdown> told;
    for (int i = from; i < to; ++i) {
      if (const auto now = detector.add({0, ratio, 0.3, i, 0})) told = now;
    }
    return told;
  };
  EXPECT_FALSE(feed(0, 400, 0));
  const auto first = feed(400, 500, std::log(1.5));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->since, 400);
  EXPECT_NEAR(first->factor, 1.5, 1e-9);
  EXPECT_TRUE(detector.is_slow());
  EXPECT_FALSE(feed(500, 700, 0));
  EXPECT_FALSE(detector.is_slow());
  EXPECT_TRUE(feed(700, 800, std::log(1.5)));
}

TEST(Slowdown, a_stream_that_ends_is_judged_by_four_calls) {
  SlowdownDetector detector;
  for (int i = 0; i < 3; ++i) detector.add({0, 1, 0.3, i, 0});
  EXPECT_FALSE(detector.finish());
  detector.add({0, 1, 0.3, 3, 0});
  EXPECT_TRUE(detector.finish());
}

}  // namespace
}  // namespace collsim::command
