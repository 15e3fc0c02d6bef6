// The front of cost and time.

#include "tools/collsim/plan/frontier.h"

#include <gtest/gtest.h>

#include <vector>

namespace collsim {
namespace {

TEST(Frontier, has_what_no_other_choice_beats) {
  // (3, 3) loses to (2, 2); (4, 2) is no faster than (2, 2).
  const std::vector<CostAndTime> choices{{3, 3, 0}, {1, 5, 0}, {2, 2, 0}, {4, 2, 0}, {9, 1, 0}};
  EXPECT_EQ(frontier(choices), (std::vector<std::size_t>{1, 2, 4}));
}

TEST(Frontier, knows_nothing_faster_within_the_error) {
  // 4.5 is a tenth faster than 5, which may be nothing; 3 is faster than 5 by two thirds.
  const std::vector<CostAndTime> choices{{1, 5, 0.14}, {2, 4.5, 0.14}, {3, 3, 0.14}};
  EXPECT_EQ(frontier(choices), (std::vector<std::size_t>{0, 2}));
}

TEST(Frontier, has_the_first_of_equal_choices) {
  const std::vector<CostAndTime> choices{{1, 1, 0}, {1, 1, 0}, {1, 2, 0}};
  EXPECT_EQ(frontier(choices), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(frontier({}).empty());
}

}  // namespace
}  // namespace collsim
