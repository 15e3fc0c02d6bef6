#include "sim/base/median.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

TEST(Median, is_the_middle_value_or_the_mean_of_the_middle_two) {
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({9, 1, 5, 2}), 3.5);
  EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace collsim
