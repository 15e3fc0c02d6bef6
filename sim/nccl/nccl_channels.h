#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/rooted_tree.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// One channel as NCCL builds it when a communicator is made.
struct NcclChannel {
  /// The ranks in ring order, beginning anywhere: ring[i] sends to ring[i + 1], the last to the
  /// first.
  std::vector<Rank> ring;
  /// The tree over all ranks (chains inside nodes, a binary tree between them).
  RootedTree tree;
  /// CollNetChain's chain of every node, the rank at the network first. May be empty.
  std::vector<std::vector<Rank>> chains{};
};

/// The ranks by node, and which of them head a stripe: the node's part of the buffer in stripes is
/// reduced at the heads. The heads of one stripe on all nodes deal with each other.
struct NcclStripes {
  std::vector<std::vector<Rank>> nodes;  ///< equally many ranks each
  std::vector<std::uint32_t> heads;      ///< head of stripe h: nodes[node][heads[h]]

  std::uint32_t stripes() const { return static_cast<std::uint32_t>(heads.size()); }
  std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes.size()); }
  Rank ranks() const { return static_cast<Rank>(nodes.size() * nodes.front().size()); }
  Rank head(std::uint32_t node, std::uint32_t stripe) const { return nodes[node][heads[stripe]]; }
};

/// Every channel that a communicator may use for collectives, in NCCL's order. A call uses the
/// first C' of them.
struct NcclChannels {
  std::vector<NcclChannel> channels;
  /// Stripes of NVLS and NVLSTree, whose channels are all alike, and of CollNetDirect. They have no
  /// heads where the machine has none.
  NcclStripes nvls{};
  NcclStripes collnet{};
};

}  // namespace collsim
