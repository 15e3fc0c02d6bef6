#pragma once

#include "sim/base/units.h"

namespace collsim {

/// The share of `footprint` bytes, gone through in turn again and again, that a cache with random
/// replacement still holds when their turn comes. All where they fit in, else h with
/// h = exp(-(1 - h) footprint / cache): only misses replace anything.
double cached_share(double footprint, Bytes cache);

}  // namespace collsim
