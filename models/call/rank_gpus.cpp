#include "models/call/rank_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "models/machine/gpu_model.h"
#include "sim/base/division.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// A GPU's place among the GPUs of its node.
std::uint32_t place_in_node(const Topology& topology, DeviceId gpu) {
  const NodePart node = topology.node(static_cast<std::uint32_t>(topology.node_of(gpu)));
  const auto& gpus = node.graph->gpus();
  const auto found = std::find(gpus.begin(), gpus.end(), gpu - node.first_device);
  return static_cast<std::uint32_t>(found - gpus.begin());
}

/// GPUs of the node that has most.
std::uint32_t max_gpus_of_a_node(const Topology& topology) {
  std::size_t most = 0;
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    most = std::max(most, topology.node(node).graph->gpus().size());
  }
  return static_cast<std::uint32_t>(most);
}

/// How many of each node ranks take: all, but of racks, which jobs fill alike, the same number, of
/// less than twice the racks that would do. A rack has more than a host of two CPUs.
std::uint32_t usual_per_node(const Topology& topology, Rank ranks, std::uint32_t fullest) {
  const GpuModel* model = find_gpu_model(topology.device(topology.gpus().front()).model);
  const bool are_racks =
      model != nullptr && model->gpus_per_rack > 0 && fullest > 2 * model->gpus_per_cpu;
  const std::uint32_t fewest = divide_up(ranks, fullest);
  const std::uint32_t end = std::min(2 * fewest, topology.node_count() + 1);
  for (std::uint32_t racks = fewest; are_racks && racks < end; ++racks) {
    if (ranks % racks == 0) return ranks / racks;
  }
  return fullest;
}

}  // namespace

std::vector<DeviceId> first_gpus(const Topology& topology, Rank ranks,
                                 std::optional<std::uint32_t> per_node) {
  const std::uint32_t fullest = max_gpus_of_a_node(topology);
  if (per_node.value_or(1) < 1 || per_node.value_or(1) > fullest) {
    throw InputError(fmt::format("{} ranks per node on '{}', whose nodes have {} GPU{}", *per_node,
                                 topology.name(), fullest, fullest == 1 ? "" : "s"),
                     fmt::format("1 to {}", fullest));
  }
  const std::uint32_t of_each = per_node.value_or(usual_per_node(topology, ranks, fullest));
  std::vector<DeviceId> gpus;
  for (const DeviceId gpu : topology.gpus()) {
    if (place_in_node(topology, gpu) < of_each) gpus.push_back(gpu);
  }
  if (ranks < 1 || ranks > gpus.size()) {
    throw InputError(fmt::format("{} ranks on '{}'", ranks, topology.name()),
                     fmt::format("1 to {} ranks, one per GPU", gpus.size()));
  }
  gpus.resize(ranks);
  return gpus;
}

Placement placement_of(const Topology& topology, const std::vector<DeviceId>& gpus) {
  Placement placement;
  for (const DeviceId gpu : gpus) {
    placement.node_of_rank.push_back(static_cast<std::uint32_t>(topology.node_of(gpu)));
  }
  return placement;
}

std::vector<DeviceId> grouped_by_node(const Topology& topology, std::vector<DeviceId> gpus) {
  std::map<std::int32_t, std::size_t> node_order;
  std::vector<std::pair<std::size_t, DeviceId>> keys;
  std::int32_t node = -1;
  std::size_t order = 0;
  for (const DeviceId gpu : gpus) {
    const std::int32_t own = topology.node_of(gpu);
    if (own != node) order = node_order.try_emplace(own, node_order.size()).first->second;
    node = own;
    keys.emplace_back(order, gpu);
  }
  if (std::is_sorted(keys.begin(), keys.end())) return gpus;
  std::sort(keys.begin(), keys.end());
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i] = keys[i].second;
  return gpus;
}

NodesByPlaces nodes_by_places(const Topology& topology, const std::vector<DeviceId>& gpus) {
  NodesByPlaces nodes;
  std::map<Nccl::LocalGpus, std::uint32_t> known;
  for (const auto& node : placement_of(topology, gpus).ranks_by_node()) {
    Nccl::LocalGpus places;
    for (const Rank rank : node) places.push_back(place_in_node(topology, gpus[rank]));
    const auto kind = known.try_emplace(places, static_cast<std::uint32_t>(known.size())).first;
    if (known.size() > nodes.kinds.size()) nodes.kinds.push_back({places, {}});
    nodes.kind_of_node.push_back(kind->second);
    for (const Rank rank : node) nodes.kinds[kind->second].gpus.push_back(gpus[rank]);
  }
  return nodes;
}

std::vector<std::uint32_t> kinds_of_nodes(const Topology& topology,
                                          const std::vector<DeviceId>& gpus) {
  std::vector<std::uint32_t> kinds;
  std::int32_t last = -1;
  for (const DeviceId gpu : gpus) {
    if (topology.node_of(gpu) == last) continue;
    last = topology.node_of(gpu);
    const auto node = static_cast<std::uint32_t>(last);
    const auto* const graph = topology.node(node).graph;
    const bool known = std::any_of(kinds.begin(), kinds.end(), [&](std::uint32_t kind) {
      return topology.node(kind).graph == graph;
    });
    if (!known) kinds.push_back(node);
  }
  return kinds;
}

}  // namespace collsim
