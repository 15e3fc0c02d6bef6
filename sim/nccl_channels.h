#pragma once

#include <cstdint>
#include <vector>

#include "sim/algorithms/patterns.h"
#include "sim/topology.h"

namespace collsim {

/// One channel as NCCL builds it when a communicator is made.
struct NcclChannel {
  /// The ranks in ring order, beginning anywhere: ring[i] sends to ring[i + 1], the last to the
  /// first.
  std::vector<Rank> ring;
  /// The tree over all ranks (chains inside nodes, a binary tree between them).
  RootedTree tree;
};

/// Every channel that a communicator may use for collectives, in NCCL's order. A call uses the
/// first C' of them.
struct NcclChannels {
  std::vector<NcclChannel> channels;
};

}  // namespace collsim
