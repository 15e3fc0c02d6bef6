#pragma once

#include <span>
#include <vector>

#include "sim/algorithms/patterns.h"
#include "sim/collective.h"
#include "sim/plan.h"

namespace collsim {

// The schedules of which make_nccl_plan() puts its plans together, one file per algorithm.

/// The programs of one channel on a ring of at least one rank. `ring` begins at rank 0.
Schedule nccl_ring_schedule(Collective collective, std::span<const Rank> ring, Rank root);

/// All-reduce over one tree: lane 0 reduces up, lane 1 broadcasts down, at the root one primitive
/// in lane 0 does both.
Schedule nccl_tree_schedule(const RootedTree& tree);

}  // namespace collsim
