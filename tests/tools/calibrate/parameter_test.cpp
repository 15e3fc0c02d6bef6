// Which constants can be fitted, and where they stand.

#include "tools/collsim/calibrate/parameter.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace collsim {
namespace {

TEST(FitParameters, have_names_of_their_own) {
  std::set<std::string> names;
  for (const Parameter& parameter : fit_parameters()) {
    EXPECT_TRUE(names.insert(parameter.name).second) << parameter.name;
  }
}

TEST(FitParameters, stand_for_constants_of_their_own) {
  Calibration cost;
  double value = 1;
  for (const Parameter& parameter : fit_parameters()) parameter.in(cost) = ++value;
  value = 1;
  for (const Parameter& parameter : fit_parameters()) {
    EXPECT_EQ(parameter.in(cost), ++value) << parameter.name;
  }
}

TEST(FitParameters, of_a_kind_of_link_begin_as_the_protocols) {
  Calibration cost;
  cost.protocols[0].step = microseconds(3);
  for (const Parameter& parameter : fit_parameters()) {
    if (parameter.name != "ll.over.pcie.step") continue;
    EXPECT_DOUBLE_EQ(parameter.in(cost), 3e-6);
  }
  EXPECT_EQ(cost.of(Protocol::ll, LinkKind::pcie).step, microseconds(3));
}

}  // namespace
}  // namespace collsim
