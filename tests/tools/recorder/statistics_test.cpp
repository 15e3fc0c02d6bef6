#include "tools/recorder/statistics.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace collsim::recorder {
namespace {

TEST(Statistics, OfOneValueAreThatValue) {
  const Statistics one = statistics_of({3});
  EXPECT_EQ(one.median, 3);
  EXPECT_EQ(one.min, 3);
  EXPECT_EQ(one.max, 3);
  EXPECT_EQ(one.p99, 3);
}

// Of an even number of values the median is the middle two's mean.
TEST(Statistics, HaveTheMedianInTheMiddle) {
  EXPECT_EQ(statistics_of({9, 1, 5}).median, 5);
  EXPECT_EQ(statistics_of({9, 1, 5, 2}).median, 3.5);
}

// Of 1 to 200, 198 values (99 %) do not exceed 198.
TEST(Statistics, HaveThe99thPercentileByNearestRank) {
  std::vector<double> values(200);
  std::iota(values.begin(), values.end(), 1);
  EXPECT_EQ(statistics_of(values).p99, 198);
  EXPECT_EQ(statistics_of(values).max, 200);
}

}  // namespace
}  // namespace collsim::recorder
