#pragma once

#include <optional>
#include <vector>

#include "models/nccl/choice.h"
#include "sim/algorithms/registry.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The first `ranks` of those GPUs that are among the first `per_node` of their node. Throws
/// InputError where the machine has fewer, or no node has `per_node`.
std::vector<DeviceId> first_gpus(const Topology& topology, Rank ranks,
                                 std::optional<std::uint32_t> per_node = std::nullopt);

/// The nodes on which the ranks sit: rank i is on `gpus[i]`.
Placement placement_of(const Topology& topology, const std::vector<DeviceId>& gpus);

/// The GPUs grouped by node, nodes in the order of their first GPU, each node's in the order of the
/// machine: NCCL's rings and trees follow GPUs, whatever ranks they have.
std::vector<DeviceId> grouped_by_node(const Topology& topology, std::vector<DeviceId> gpus);

/// The places, among the GPUs of its node, of the GPUs that take part; `gpus` are grouped by node.
/// Throws InputError where they differ from node to node: NCCL's rules are modelled for nodes with
/// as many ranks each.
Nccl::LocalGpus places_of_each_node(const Topology& topology, const std::vector<DeviceId>& gpus);

/// A node of every kind on which the GPUs are, the first one of each.
std::vector<std::uint32_t> kinds_of_nodes(const Topology& topology,
                                          const std::vector<DeviceId>& gpus);

}  // namespace collsim
