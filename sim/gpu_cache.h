#pragma once

#include <vector>

#include "sim/binding.h"
#include "sim/plan.h"
#include "sim/units.h"

namespace collsim {

/// Of so many bytes that are gone through in turn, again and again, the share that a cache still
/// holds when their turn comes: all where they fit in, else (cache / footprint)^2, as measured of
/// CPUs' (recordings/h200x4/host-memory.yaml) and of GPUs' (forced-2-ranks.yaml, Ring/LL).
double cached_share(double footprint, Bytes cache);

/// What a rank reads and writes of its own buffers in a call out of place, in bytes.
double own_footprint(const Plan& plan, const Binding& binding, Rank rank);

/// By rank: of what it reads of its own buffers, the share that has left a GPU's cache since the
/// last call. None where nothing is known of a cache (0 bytes).
std::vector<double> cold_shares(const Plan& plan, const Binding& binding, Bytes cache);

}  // namespace collsim
