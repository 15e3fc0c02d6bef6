#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "sim/routing/routing.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The leaves of a fabric: where nodes are cabled to, and what leads on from there. Nodes that are
/// cabled to the same first switch share a leaf; a rail-optimised fabric's leaf is all switches of
/// such a node together.
class FabricLeaves {
 public:
  explicit FabricLeaves(const Topology& topology);

  /// The leaf of a node, counted from 0 in the order of nodes.
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

/// Bytes that go from node to node.
using NodeTraffic = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;

/// What everything that nodes send each other at once shares: the NICs of every node, the cables
/// that lead on from every leaf, and those between the switches above. The machine's routes say
/// which of them traffic crosses; cables of one kind are taken to be filled alike.
class SharedNetwork {
 public:
  /// A part of every cable's rate is reached: headers take the rest. Both must outlive it.
  SharedNetwork(const Topology& topology, const FabricLeaves& leaves, double reached);

  /// The time for which this traffic keeps the busiest of them busy.
  Seconds busy_time(const NodeTraffic& traffic);

 private:
  std::uint32_t cables_above(std::uint32_t from, std::uint32_t to);

  const Topology& topology_;
  const FabricLeaves& leaves_;
  Router router_;
  double reached_;
  std::vector<double> nics_;   ///< of each node, bytes per second each way
  std::vector<bool> on_leaf_;  ///< by switch: whether a node is cabled to it
  double above_ = 0;           ///< of all cables between other switches, both ways
  /// The number of cables above two leaves that a way between their nodes has.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_;
};

}  // namespace collsim
