#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/plan/rooted_tree.h"
#include "sim/topologies/topology.h"

namespace collsim {

// Who talks to whom: arithmetic on rank numbers only, without chunks, steps or machines.

constexpr Rank ring_next(Rank rank, Rank ranks) {
  return rank + 1 == ranks ? 0 : rank + 1;
}
constexpr Rank ring_prev(Rank rank, Rank ranks) {
  return rank == 0 ? ranks - 1 : rank - 1;
}
/// `rank` minus `distance` around the ring; distance <= 2 * ranks.
constexpr Rank ring_back(Rank rank, Rank distance, Rank ranks) {
  return (rank + 2 * ranks - distance) % ranks;
}

/// An edge of a tree; used in both directions.
struct TreeEdge {
  Rank parent = 0;
  Rank child = 0;
  bool operator==(const TreeEdge&) const = default;
};

/// The edges of a tree by the depth of their child: levels[d - 1] holds those from depth d - 1 to
/// depth d. Children of one parent are neighbours, ascending. levels.size() is the tree's depth.
std::vector<std::vector<TreeEdge>> edges_by_level(const RootedTree& tree);

/// NCCL's tree over 0..N-1 with root 0 (the rule of ncclGetBtree, NCCL src/graph/trees.cc): below
/// the root, ranks are in symmetric order, so that a rank with L as its lowest set bit is L's
/// height; half of the ranks, the odd ones, are leaves. Depth ceil(log2 N).
RootedTree binary_tree(Rank ranks);

/// The partner of binary_tree() (ncclGetDtree): its mirror image (r to N-1-r) for even N, its shift
/// by one (r to r+1 mod N) for odd N. For even N no rank has children in both trees; for odd N at
/// most rank 0 has.
RootedTree second_binary_tree(Rank ranks);

/// A tree over all ranks from a tree over nodes: inside each node a chain in the given order, whose
/// head carries the node's edges to parent and children.
RootedTree chain_in_nodes(const RootedTree& node_tree, std::span<const std::vector<Rank>> nodes);

/// N ranks folded to the next lower power of two: the first `excess` pairs of neighbours (2i, 2i+1)
/// act as one, 2i for both.
struct PowerOfTwoFold {
  Rank core = 1;    ///< the power of two
  Rank excess = 0;  ///< N - core

  /// The rank that acts as member `i` of the core.
  constexpr Rank rank_of(Rank i) const { return i < excess ? 2 * i : i + excess; }
};
PowerOfTwoFold fold_to_power_of_two(Rank ranks);

}  // namespace collsim
