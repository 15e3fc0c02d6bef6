// How much of what is gone through again and again a cache still holds.

#include <gtest/gtest.h>

#include <cmath>

#include "models/machine/host_memory.h"

namespace collsim {
namespace {

// Of twice as much as fits in, 0.2032 is there: exp(-2 x 0.7968). Next to none of ten times as
// much.
TEST(CachedShare, is_what_the_misses_leave) {
  EXPECT_EQ(cached_share(0, {100}), 1);
  EXPECT_EQ(cached_share(100, {100}), 1);
  EXPECT_GT(cached_share(101, {100}), 0.97);
  EXPECT_NEAR(cached_share(200, {100}), 0.20319, 1e-5);
  EXPECT_NEAR(cached_share(1000, {100}), std::exp(-10), 1e-6);
}

TEST(CachedShare, falls_with_the_footprint) {
  double last = 1;
  for (double footprint = 100.5; footprint < 2000; footprint *= 1.1) {
    const double share = cached_share(footprint, {100});
    EXPECT_LT(share, last) << footprint;
    EXPECT_NEAR(share, std::exp(-(1 - share) * footprint / 100), 1e-9) << footprint;
    last = share;
  }
}

}  // namespace
}  // namespace collsim
