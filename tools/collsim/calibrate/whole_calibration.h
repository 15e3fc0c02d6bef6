#pragma once

#include <string>
#include <string_view>

#include "sim/cost/calibration.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/calibrate/calibration_text.h"

namespace collsim {

/// A calibration file with all that it takes from what it extends, as if it extended nothing: a fit
/// begins from this, so that what it writes stands for itself. Throws InputError.
CalibrationText whole_calibration(const TextFile& file);

/// The whole text of a calibration that a person names, as named_calibration() takes it: of
/// "h100+ib" the GPUs' constants with what the transports say. Throws InputError.
CalibrationText whole_calibration(std::string_view name);

/// The name of the calibration that answers for all GPUs of a machine, with the transports that
/// these take: "h100+ib", "pcie+tcp+shm". Throws InputError.
std::string name_of_calibration_used(const Topology& topology);

/// The costs that a text's constants say. Throws InputError where one is missing.
Calibration cost_of(const CalibrationText& text);

}  // namespace collsim
