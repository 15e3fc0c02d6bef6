// What a GPU of another clock rate takes longer for, and what it does not.

#include "models/calibration/time_scale.h"

#include <gtest/gtest.h>

#include "models/calibration/calibration_file.h"
#include "sim/base/data_directory.h"
#include "tools/collsim/calibrate/parameter.h"

namespace collsim {
namespace {

bool is_per_protocol(const std::string& name) {
  return name.starts_with("ll.") || name.starts_with("ll128.") || name.starts_with("simple.");
}

// Every constant there is: a time per protocol doubles, a rate halves, all others stay.
TEST(AtPace, scales_what_thread_blocks_do) {
  Calibration before = load_calibration(find_data_file("hgx-h200", "models/data/calibrations"));
  Calibration after = with_time_scale(before, 2);
  for (const Parameter& parameter : fit_parameters()) {
    const bool scales =
        (is_per_protocol(parameter.name) && !parameter.name.ends_with(".alpha.network")) ||
        parameter.name.starts_with("corrections.") || parameter.name == "message_setup" ||
        parameter.name == "nvls.step";
    const double factor =
        !scales || parameter.quantity == Quantity::share || parameter.quantity == Quantity::factor
            ? 1
        : parameter.quantity == Quantity::time ? 2
                                               : 0.5;
    EXPECT_DOUBLE_EQ(parameter.in(after), factor * parameter.in(before)) << parameter.name;
  }
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    EXPECT_EQ(after.of(protocol).warp_granule, before.of(protocol).warp_granule);
    EXPECT_EQ(after.of(protocol).wire_factor, before.of(protocol).wire_factor);
  }
  EXPECT_EQ(after.memory.cache, before.memory.cache);
}

TEST(AtPace, leaves_alone_what_has_no_limit) {
  const Calibration cost = with_time_scale({}, 2);
  EXPECT_EQ(cost.of(Protocol::simple).write, unlimited);
  EXPECT_FALSE(cost.message_setup.has_value());
  EXPECT_FALSE(cost.nvls.step.has_value());
}

}  // namespace
}  // namespace collsim
