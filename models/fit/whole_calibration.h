#pragma once

#include "models/fit/calibration_text.h"
#include "sim/cost/calibration.h"

namespace collsim {

/// A calibration file with all that it takes from what it extends, as if it extended nothing: a fit
/// begins from this, so that what it writes stands for itself. Throws InputError.
CalibrationText whole_calibration(const TextFile& file);

/// The costs that a text's constants say. Throws InputError where one is missing.
Calibration cost_of(const CalibrationText& text);

}  // namespace collsim
