#pragma once

#include <cstdint>

#include "sim/cost/calibration.h"

namespace collsim {

/// A number that two calibrations share if all that they say of costs is the same: 64 bits of a
/// hash. Names, trust and which transport is wanted do not count.
std::uint64_t hash_of(const Calibration& cost);

}  // namespace collsim
