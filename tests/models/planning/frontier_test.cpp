// The front of cost and time.

#include "models/planning/frontier.h"

#include <gtest/gtest.h>

#include <vector>

namespace collsim {
namespace {

TEST(Frontier, has_what_no_other_choice_beats) {
  // (3, 3) loses to (2, 2); (4, 2) is no faster than (2, 2).
  const std::vector<CostAndTime> choices{{3, 3}, {1, 5}, {2, 2}, {4, 2}, {9, 1}};
  EXPECT_EQ(frontier(choices), (std::vector<std::size_t>{1, 2, 4}));
}

TEST(Frontier, has_the_first_of_equal_choices) {
  const std::vector<CostAndTime> choices{{1, 1}, {1, 1}, {1, 2}};
  EXPECT_EQ(frontier(choices), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(frontier({}).empty());
}

}  // namespace
}  // namespace collsim
