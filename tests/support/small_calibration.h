#pragma once

#include <string>
#include <string_view>

#include "sim/base/text_file.h"
#include "sim/cost/calibration.h"

namespace collsim::test {

/// The shipped one without rounds of warps, whose many events make whole calls slow to simulate.
Calibration default_calibration();
/// A calibration c.yaml of which only these lines matter, from line 5 on.
TextFile small_calibration(std::string_view lines);
/// What it costs.
Calibration cost_of_small_calibration(std::string_view lines);
/// What reading it complains about; empty where it does not.
std::string error_in_small_calibration(std::string_view lines);

}  // namespace collsim::test
