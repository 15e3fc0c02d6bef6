// Where two ways of running a collective cross over.

#include "tools/collsim/crossover/crossover_point.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

TimePair pair_of(std::int64_t size, double first, double second) {
  return {Bytes{size}, microseconds(first), microseconds(second)};
}

// Ratios 1/2 at 100 and 2 at 400: in logarithms the middle, 200.
TEST(Crossover, lies_where_the_ratio_is_1) {
  const Crossover crossover = find_crossover({pair_of(100, 1, 2), pair_of(400, 4, 2)});
  EXPECT_TRUE(crossover.first_before);
  EXPECT_FALSE(crossover.first_after);
  EXPECT_NEAR(crossover.size.value(), 200, 1e-9);
}

TEST(Crossover, is_none_where_one_always_leads) {
  const Crossover crossover = find_crossover({pair_of(100, 3, 2), pair_of(400, 5, 4)});
  EXPECT_FALSE(crossover.size);
  EXPECT_FALSE(crossover.first_before);
  EXPECT_FALSE(crossover.first_after);
}

// Changes at 100-200 (noise), 200-400 and 400-800: the last one counts. Ratio 2/1 at 400 and 1/2 at
// 800: 400 * sqrt(2).
TEST(Crossover, is_the_last_of_several) {
  const Crossover crossover = find_crossover(
      {pair_of(100, 2, 1), pair_of(200, 1, 2), pair_of(400, 2, 1), pair_of(800, 1, 2)});
  EXPECT_NEAR(crossover.size.value(), 565.685, 0.01);
  EXPECT_FALSE(crossover.first_before);
  EXPECT_TRUE(crossover.first_after);
}

}  // namespace
}  // namespace collsim
