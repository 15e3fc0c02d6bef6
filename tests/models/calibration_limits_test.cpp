// Constants that cannot be.

#include <gtest/gtest.h>

#include "tests/support/small_calibration.h"

namespace collsim {
namespace {

TEST(Crowding, takes_half_of_a_link_at_most) {
  EXPECT_EQ(test::error_in_small_calibration("protocols: { simple: { crowding: 50% } }"), "");
  EXPECT_EQ(test::error_in_small_calibration("protocols: { simple: { crowding: 51% } }"),
            "c.yaml:5:34: 51% is out of range; a share from 0 to 0.5, like 0.1 or 10%");
}

}  // namespace
}  // namespace collsim
