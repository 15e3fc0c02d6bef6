#pragma once

#include <vector>

#include "sim/base/units.h"
#include "sim/execution/binding.h"
#include "sim/plan/plan.h"

namespace collsim {

/// Of what came first of so many bytes, the share that is still in a cache which makes room at
/// random: exp(-bytes / cache). Lanes of trees whose peer sends faster than they take lose 17, 40,
/// 62, 86 and 95 % of what cold rounds cost with 5, 10, 20, 39 and 59 MB unread, of 2 and of 4
/// ranks alike (recordings/h200x2/two-ranks.yaml, recordings/h200x4/four-ranks.yaml, trees, LL128).
double kept_share(double bytes, Bytes cache);

/// Of so many bytes that are gone through in turn, again and again, the share that such a cache
/// still holds when their turn comes: all where they fit in, else h with h = exp(-(1 - h) footprint
/// / cache), since only what it no longer held makes room for itself. Rings of LL have all of 16 MB
/// and hardly any of 64 (recordings/h200x4/forced-2-ranks.yaml).
double cached_share(double footprint, Bytes cache);

/// What a rank reads and writes of its own buffers in a call out of place, in bytes.
double own_footprint(const Plan& plan, const Binding& binding, Rank rank);

/// By rank: of what it reads of its own buffers, the share that has left a GPU's cache since the
/// last call. None where nothing is known of a cache (0 bytes).
std::vector<double> cold_shares(const Plan& plan, const Binding& binding, Bytes cache);

}  // namespace collsim
