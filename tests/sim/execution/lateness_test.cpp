// Messages that are late by chance stay in order.

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/execution/machine_changes.h"

namespace collsim {
namespace {

TEST(Lateness, is_nothing_without_jitter) {
  EXPECT_TRUE(Lateness().empty());
  Lateness lateness(1, 2);
  EXPECT_FALSE(lateness.empty());
  EXPECT_EQ(lateness.delay_of_next(0, microseconds(3), {}), microseconds(3));
}

// A message a nanosecond, each late by up to a microsecond: hardly any would stay in its place.
TEST(Lateness, keeps_the_order_of_messages) {
  Lateness lateness(1, 2);
  lateness.set_jitter(1, microseconds(1));
  Seconds last;
  Seconds most;
  for (int message = 0; message < 100; ++message) {
    const Seconds now = message * microseconds(0.001);
    const Seconds delay = lateness.delay_of_next(1, microseconds(3), now);
    EXPECT_GE(delay, microseconds(3));
    EXPECT_LE(delay, microseconds(4));
    EXPECT_GE((now + delay).value, last.value * (1 - 1e-12));
    last = now + delay;
    most = std::max(most, delay);
  }
  EXPECT_GT(most, microseconds(3.5));
}

// An alpha that falls while a message is on its way does not let the next one overtake it.
TEST(Lateness, holds_back_what_would_overtake) {
  Lateness lateness(1, 1);
  lateness.delay_of_next(0, microseconds(9), {});
  EXPECT_DOUBLE_EQ(in_microseconds(lateness.delay_of_next(0, microseconds(1), microseconds(2))), 7);
}

}  // namespace
}  // namespace collsim
