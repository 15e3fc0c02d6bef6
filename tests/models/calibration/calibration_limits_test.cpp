// Constants that cannot be.

#include <gtest/gtest.h>

#include "models/fit/parameter.h"
#include "tests/support/small_calibration.h"

namespace collsim {
namespace {

TEST(Crowding, takes_half_of_a_link_at_most) {
  EXPECT_EQ(test::error_in_small_calibration("protocols: { simple: { crowding: 50% } }"), "");
  EXPECT_EQ(test::error_in_small_calibration("protocols: { simple: { crowding: 51% } }"),
            "c.yaml:5:34: 51% is out of range; a share from 0 to 0.5, like 0.1 or 10%");
}

TEST(Mixing, leaves_something_of_a_link) {
  EXPECT_EQ(test::error_in_small_calibration("protocols: { simple: { mixing: 90% } }"), "");
  EXPECT_EQ(test::error_in_small_calibration("protocols: { simple: { mixing: 91% } }"),
            "c.yaml:5:32: 91% is out of range; a share from 0 to 0.9, like 0.1 or 10%");
}

TEST(Overlap, lets_two_lanes_do_twice_as_much_at_most) {
  EXPECT_EQ(test::error_in_small_calibration("protocols: { simple: { overlap: 100% } }"), "");
  EXPECT_EQ(test::error_in_small_calibration("protocols: { simple: { overlap: 101% } }"),
            "c.yaml:5:33: 101% is out of range; a share from 0 to 1, like 0.1 or 10%");
}

TEST(UnevennessLimits, leave_something_of_a_slice) {
  EXPECT_EQ(test::error_in_small_calibration("unevenness: { slice: 40%, channel: 40% }"), "");
  EXPECT_EQ(test::error_in_small_calibration("unevenness: { slice: 41% }"),
            "c.yaml:5:22: 41% is out of range; a share from 0 to 0.4, like 0.1 or 10%");
}

// Else a fit could find what no calibration may say.
TEST(UnevennessLimits, are_those_of_a_fit_too) {
  int found = 0;
  for (const Parameter& parameter : fit_parameters()) {
    if (!parameter.name.starts_with("unevenness.")) continue;
    ++found;
    EXPECT_EQ(parameter.accepted.most, max_unevenness) << parameter.name;
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace collsim
