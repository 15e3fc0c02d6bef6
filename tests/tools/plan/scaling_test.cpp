// Efficiencies and the end of scaling, with numbers that can be done by hand.

#include "tools/collsim/plan/scaling.h"

#include <gtest/gtest.h>

#include <array>

namespace collsim {
namespace {

constexpr ScalingPoint eight{8, Seconds{1}};
constexpr ScalingPoint sixteen{16, Seconds{2}};

TEST(Scaling, weak_efficiency_is_the_ratio_of_steps) {
  // (3 + 1) / (3 + 2)
  EXPECT_DOUBLE_EQ(efficiency(Scaling::weak, Seconds{3}, eight, sixteen), 0.8);
  // Without compute the ratio of the communications.
  EXPECT_DOUBLE_EQ(efficiency(Scaling::weak, Seconds{}, eight, sixteen), 0.5);
  EXPECT_DOUBLE_EQ(efficiency(Scaling::weak, Seconds{3}, eight, eight), 1);
}

TEST(Scaling, strong_efficiency_divides_the_compute) {
  // 8 GPUs: 6 + 1 = 7 s. 16 GPUs: 6 / 2 + 2 = 5 s. 7 * 8 / (5 * 16) = 0.7
  EXPECT_DOUBLE_EQ(efficiency(Scaling::strong, Seconds{6}, eight, sixteen), 0.7);
}

TEST(Scaling, same_work_takes_a_part_of_a_weak_step) {
  EXPECT_DOUBLE_EQ(step_time(Scaling::weak, Seconds{3}, 8, sixteen).value, 5);
  EXPECT_DOUBLE_EQ(work_time(Scaling::weak, Seconds{3}, 8, sixteen).value, 2.5);
  EXPECT_DOUBLE_EQ(step_time(Scaling::strong, Seconds{3}, 8, sixteen).value, 3.5);
  EXPECT_DOUBLE_EQ(work_time(Scaling::strong, Seconds{3}, 8, sixteen).value, 3.5);
}

TEST(Scaling, ends_where_doubling_brings_less_than_half_more) {
  // Compute 8 s at 8 GPUs, communication always 1 s: steps of 9, 5, 3, 2 and 1.5 s. Speeds rise by
  // 1.8, 1.67, 1.5 and 1.33: the last doubling brings less than 1.5.
  const std::array points{ScalingPoint{8, Seconds{1}}, ScalingPoint{16, Seconds{1}},
                          ScalingPoint{32, Seconds{1}}, ScalingPoint{64, Seconds{1}},
                          ScalingPoint{128, Seconds{1}}};
  EXPECT_EQ(first_that_does_not_scale(Scaling::strong, Seconds{8}, points), 4U);
  // Weak: steps stay, so that speed doubles.
  EXPECT_FALSE(first_that_does_not_scale(Scaling::weak, Seconds{8}, points).has_value());
}

}  // namespace
}  // namespace collsim
