#pragma once

#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/patterns.h"
#include "sim/plan/schedule_builder.h"

namespace collsim {

/// The rank that is `distance` < N after the root around the ring. Rooted algorithms are written
/// for root 0 and turned.
inline Rank after_root(const Group& group, Rank distance) {
  return (group.root() + distance) % group.size();
}

}  // namespace collsim
