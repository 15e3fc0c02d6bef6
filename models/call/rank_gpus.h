#pragma once

#include <optional>
#include <vector>

#include "models/nccl/choice.h"
#include "sim/algorithms/registry.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The first `ranks` of those GPUs that are among the first `per_node` of their node. Where
/// `per_node` is not given, nodes are filled one after the other, but racks of one NVLink domain
/// alike if the ranks divide so: 128 ranks take 64 of each of two racks of 72, 1,024 of 16. Throws
/// InputError where the machine has fewer, or no node has `per_node`.
std::vector<DeviceId> first_gpus(const Topology& topology, Rank ranks,
                                 std::optional<std::uint32_t> per_node = std::nullopt);

/// The nodes on which the ranks sit: rank i is on `gpus[i]`.
Placement placement_of(const Topology& topology, const std::vector<DeviceId>& gpus);

/// The GPUs grouped by node, nodes in the order of their first GPU, each node's in the order of the
/// machine: NCCL's rings and trees follow GPUs, whatever ranks they have.
std::vector<DeviceId> grouped_by_node(const Topology& topology, std::vector<DeviceId> gpus);

/// Nodes of which the same GPUs take part.
struct LikeNodes {
  Nccl::LocalGpus places;      ///< of those GPUs among the GPUs of their node
  std::vector<DeviceId> gpus;  ///< of all these nodes
};

/// The nodes of a call, in its order, by which of their GPUs take part.
struct NodesByPlaces {
  std::vector<LikeNodes> kinds;             ///< in the order of the first node of each
  std::vector<std::uint32_t> kind_of_node;  ///< by node of the call
};

/// Sorts the nodes of `gpus`, which are grouped by node.
NodesByPlaces nodes_by_places(const Topology& topology, const std::vector<DeviceId>& gpus);

/// A node of every kind on which the GPUs are, the first one of each.
std::vector<std::uint32_t> kinds_of_nodes(const Topology& topology,
                                          const std::vector<DeviceId>& gpus);

}  // namespace collsim
