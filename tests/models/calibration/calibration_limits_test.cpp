// Constants that cannot be.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/small_calibration.h"

namespace collsim {
namespace {

/// The largest percentage of a correction that is accepted.
void expect_at_most(std::string_view key, int percent, std::string_view share) {
  const auto error = [&](int of) {
    return test::error_in_small_calibration("corrections: { " + std::string(key) + ": " +
                                            std::to_string(of) + "% }");
  };
  EXPECT_EQ(error(percent), "");
  EXPECT_NE(error(percent + 1)
                .find(std::to_string(percent + 1) + "% is out of range; a share from 0 to " +
                      std::string(share)),
            std::string::npos)
      << error(percent + 1);
}

TEST(Corrections, leave_half_of_a_link_to_contention) {
  expect_at_most("link_contention", 50, "0.5,");
  expect_at_most("hol_blocking", 50, "0.5,");
}

TEST(Corrections, let_two_lanes_do_twice_as_much_at_most) {
  expect_at_most("overlap", 100, "1,");
}

TEST(Nvls, is_stated_or_named) {
  const Calibration cost = test::cost_of_small_calibration("nvls: { efficiency: 60%, step: 3 us }");
  EXPECT_DOUBLE_EQ(cost.nvls.efficiency.value(), 0.6);
  EXPECT_EQ(cost.nvls.step, microseconds(3));
  EXPECT_TRUE(test::error_in_small_calibration("nvls: nowhere")
                  .starts_with("c.yaml:5:7: there is no 'nowhere' for NVSwitches"));
}

TEST(JitterLimits, leave_something_of_a_slice) {
  EXPECT_EQ(test::error_in_small_calibration("jitter: 40%"), "");
  EXPECT_EQ(test::error_in_small_calibration("jitter: 41%"),
            "c.yaml:5:9: 41% is out of range; a share from 0 to 0.4, like 0.1 or 10%");
}

}  // namespace
}  // namespace collsim
