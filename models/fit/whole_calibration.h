#pragma once

#include "models/fit/calibration_text.h"

namespace collsim {

/// A calibration file with all that it takes from what it extends, as if it extended nothing: a fit
/// begins from this, so that what it writes stands for itself. Throws InputError.
CalibrationText whole_calibration(const TextFile& file);

}  // namespace collsim
