#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/program/fabric_leaves.h"
#include "sim/routing/routing.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Bytes that go from node to node.
using NodeTraffic = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;

/// What everything that nodes send each other at once shares: the NICs of every node, the cables
/// that lead on from every leaf, and those between the switches above. The machine's routes say
/// which of them traffic crosses; cables of one kind are taken to be filled alike.
class SharedNetwork {
 public:
  /// A part of every cable's rate is reached: headers take the rest. Both must outlive it.
  SharedNetwork(const Topology& topology, const FabricLeaves& leaves, double reached);

  /// For how long the busiest of them is busy with it.
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
  /// By leaves: how many cables above them a way between their nodes has.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known_;
};

}  // namespace collsim
