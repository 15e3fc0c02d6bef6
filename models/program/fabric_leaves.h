#pragma once

#include <cstdint>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// The leaves of a fabric: where nodes are cabled to, and what leads on from there. Nodes that are
/// cabled to the same first switch share a leaf; a rail-optimised fabric's leaf is all switches of
/// such a node together.
class FabricLeaves {
 public:
  explicit FabricLeaves(const Topology& topology);

  /// Of a node, counted from 0 in the order of nodes.
  std::uint32_t leaf_of(std::uint32_t node) const { return leaf_of_node_[node]; }
  /// Bytes a second that a leaf sends upwards at most; 0 where nothing leads on.
  double uplink(std::uint32_t leaf) const { return uplinks_[leaf]; }
  /// How many nodes the leaf has.
  std::uint32_t nodes(std::uint32_t leaf) const { return nodes_[leaf]; }
  std::size_t count() const { return uplinks_.size(); }

 private:
  std::vector<std::uint32_t> leaf_of_node_;
  std::vector<double> uplinks_;
  std::vector<std::uint32_t> nodes_;
};

}  // namespace collsim
