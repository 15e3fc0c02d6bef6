#pragma once

#include <span>
#include <vector>

#include "sim/algorithms/patterns.h"
#include "sim/nccl/nccl_channels.h"
#include "sim/plan/collective.h"
#include "sim/plan/plan.h"

namespace collsim {

// The schedules of which make_nccl_plan() puts its plans together, one file per algorithm.

/// The programs of one channel on a ring of at least one rank. `ring` begins at rank 0.
Schedule nccl_ring_schedule(Collective collective, std::span<const Rank> ring, Rank root,
                            bool in_place);

/// All-reduce over one tree: lane 0 reduces up, lane 1 broadcasts down, at the root one primitive
/// in lane 0 does both.
Schedule nccl_tree_schedule(const RootedTree& tree);

/// All-reduce, all-gather or reduce-scatter by the NVSwitches and, between nodes, the network's
/// switches. A loop of an all-reduce has one chunk per stripe; that of the others one per rank,
/// each of which must be a head. The ranks' thread blocks hand all stripes in and out at once;
/// those of heads besides have the switch's sum multicast.
Schedule nccl_nvls_schedule(Collective collective, const NcclStripes& stripes);

/// All-reduce by the NVSwitches inside nodes and a tree over nodes, the same one for every stripe.
Schedule nccl_nvls_tree_schedule(const NcclStripes& stripes, const RootedTree& over_nodes);

/// All-reduce, all-gather or reduce-scatter by the switches of the network. The ranks of a node
/// scatter stripes to its heads and gather them from there, GPU to GPU. Chunks as in
/// nccl_nvls_schedule().
Schedule nccl_collnet_direct_schedule(Collective collective, const NcclStripes& stripes);

/// All-reduce by the switches of the network: a chain in every node, up to its first rank and down
/// again.
Schedule nccl_collnet_chain_schedule(std::span<const std::vector<Rank>> chains);

/// All-gather or reduce-scatter by binomial trees, one per block, rooted at its owner (S. Jeaugey,
/// "PAT: a new algorithm for all-gather and reduce-scatter operations at scale", 2025). Each rank
/// is at another place in each tree. nccl_pat_aggregation() subtrees of a block advance together,
/// which is how many messages a FIFO must hold. NCCL sends several small blocks as one message;
/// here every block is one.
Schedule nccl_pat_schedule(Collective collective, Rank ranks, bool in_place);
/// Doubled as long as it is less than half of the ranks, up to the steps of a buffer (NCCL
/// src/include/collectives.h).
Rank nccl_pat_aggregation(Rank ranks);

}  // namespace collsim
