#include "models/prediction/rank_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// Every GPU's place among the GPUs of its node.
std::map<DeviceId, std::uint32_t> places_in_nodes(const Topology& topology) {
  std::map<DeviceId, std::uint32_t> places;
  std::map<std::int32_t, std::uint32_t> of_node;
  for (const DeviceId gpu : topology.gpus()) places[gpu] = of_node[topology.device(gpu).node]++;
  return places;
}

}  // namespace

std::vector<DeviceId> first_gpus(const Topology& topology, Rank ranks,
                                 std::optional<std::uint32_t> per_node) {
  const auto places = places_in_nodes(topology);
  std::uint32_t fullest = 0;  // GPUs of the node that has most
  for (const auto& [gpu, place] : places) fullest = std::max(fullest, place + 1);
  if (per_node.value_or(1) < 1 || per_node.value_or(1) > fullest) {
    throw InputError(fmt::format("{} ranks per node on '{}', whose nodes have {} GPU{}", *per_node,
                                 topology.name(), fullest, fullest == 1 ? "" : "s"),
                     fmt::format("1 to {}", fullest));
  }
  std::vector<DeviceId> gpus;
  for (const DeviceId gpu : topology.gpus()) {
    if (places.at(gpu) < per_node.value_or(fullest)) gpus.push_back(gpu);
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
    placement.node_of_rank.push_back(static_cast<std::uint32_t>(topology.device(gpu).node));
  }
  return placement;
}

std::vector<DeviceId> grouped_by_node(const Topology& topology, std::vector<DeviceId> gpus) {
  std::map<std::int32_t, std::size_t> node_order;
  for (const DeviceId gpu : gpus) {
    node_order.try_emplace(topology.device(gpu).node, node_order.size());
  }
  std::sort(gpus.begin(), gpus.end(), [&](DeviceId a, DeviceId b) {
    const auto key = [&](DeviceId gpu) {
      return std::pair(node_order.at(topology.device(gpu).node), gpu);
    };
    return key(a) < key(b);
  });
  return gpus;
}

Nccl::LocalGpus places_of_each_node(const Topology& topology, const std::vector<DeviceId>& gpus) {
  const auto all_places = places_in_nodes(topology);
  std::vector<Nccl::LocalGpus> places;
  for (const auto& node : placement_of(topology, gpus).ranks_by_node()) {
    Nccl::LocalGpus& own = places.emplace_back();
    for (const Rank rank : node) own.push_back(all_places.at(gpus[rank]));
    if (own.size() != places.front().size()) {
      throw InputError(fmt::format("{} ranks on one node and {} on another under NCCL's rules",
                                   places.front().size(), own.size()),
                       "equally many on every node (--ranks, --ranks-per-node), or the textbook "
                       "schedule");
    }
    if (own != places.front()) {
      throw InputError(fmt::format("GPUs {} of one node and {} of another under NCCL's rules",
                                   fmt::join(places.front(), ", "), fmt::join(own, ", ")),
                       "the same GPUs of every node (--rank-list), or the textbook schedule");
    }
  }
  return places.front();
}

}  // namespace collsim
