#include "sim/topologies/node_paths.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace collsim {

namespace {

PathTree& tree_of(const PathGraph& graph, std::vector<std::optional<PathTree>>& trees,
                  std::uint32_t source) {
  if (!trees[source]) trees[source].emplace(graph, source);
  return *trees[source];
}

}  // namespace

std::uint64_t link_cost(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return 1;
    case LinkKind::pcie:
    case LinkKind::network:
      return 100;
    case LinkKind::cpu:
      return 10'000;
  }
  assert(false);
  return 0;
}

std::uint64_t crossing_cost(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu:
      return relay_cost;
    case DeviceKind::cpu:
      return 1'000;
    case DeviceKind::nic:
      return forbidden;  // inside a node it is a dead end
    case DeviceKind::nvswitch:
    case DeviceKind::pcie_switch:
    case DeviceKind::network_switch:
      return 0;
  }
  assert(false);
  return 0;
}

NodePaths::NodePaths(const Topology& topology, const NetworkPaths& network)
    : topology_(topology),
      nodes_(topology.node_count()),
      number_in_node_(topology.devices().size()),
      link_number_(topology.links().size()) {
  number_devices_and_links(topology);
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  for (Node& node : nodes_) {
    const auto [entry, added] =
        known.emplace(signature(node, network), static_cast<std::uint32_t>(classes_.size()));
    if (added) classes_.push_back(make_class(node, network));
    node.node_class = entry->second;
  }
}

void NodePaths::number_devices_and_links(const Topology& topology) {
  for (DeviceId id = 0; id < topology.devices().size(); ++id) {
    if (topology.device(id).node < 0) continue;
    Node& node = nodes_[static_cast<std::size_t>(topology.device(id).node)];
    number_in_node_[id] = static_cast<std::uint32_t>(node.devices.size());
    node.devices.push_back(id);
  }
  for (LinkId id = 0; id < topology.links().size(); ++id) {
    const Link& link = topology.link(id);
    const std::int32_t of_node = topology.device(link.from).node;
    if (of_node < 0 || topology.device(link.to).node != of_node) continue;
    Node& node = nodes_[static_cast<std::size_t>(of_node)];
    link_number_[id] = static_cast<std::uint32_t>(node.links.size());
    node.links.push_back(id);
  }
}

/// All that paths depend on, as numbers: equal for nodes that are wired alike.
std::vector<std::uint32_t> NodePaths::signature(const Node& node,
                                                const NetworkPaths& network) const {
  std::vector<std::uint32_t> numbers{static_cast<std::uint32_t>(node.devices.size())};
  for (const DeviceId id : node.devices) {
    numbers.push_back(static_cast<std::uint32_t>(topology_.device(id).kind));
    numbers.push_back(network.is_end(id) ? 1 : 0);
  }
  for (const LinkId id : node.links) {
    const Link& link = topology_.link(id);
    numbers.push_back(number_in_node_[link.from]);
    numbers.push_back(number_in_node_[link.to]);
    numbers.push_back(static_cast<std::uint32_t>(link.kind));
    numbers.push_back(link_number_[link.reverse]);
  }
  return numbers;
}

NodePaths::NodeClass NodePaths::make_class(const Node& node, const NetworkPaths& network) const {
  NodeClass node_class;
  for (const DeviceId id : node.devices) {
    const DeviceKind kind = topology_.device(id).kind;
    node_class.kinds.push_back(kind);
    node_class.graph.crossing.push_back(crossing_cost(kind));
    if (network.is_end(id)) node_class.ends.push_back(number_in_node_[id]);
  }
  node_class.graph.edges.resize(node.devices.size());
  for (const LinkId id : node.links) {
    const Link& link = topology_.link(id);
    node_class.graph.edges[number_in_node_[link.from]].push_back(
        {number_in_node_[link.to], link_number_[id], link_number_[link.reverse],
         link_cost(link.kind)});
  }
  node_class.trees.resize(node.devices.size());
  node_class.near.resize(node.devices.size());
  return node_class;
}

NodePaths::NodeClass& NodePaths::class_of(DeviceId device) {
  const auto node = static_cast<std::size_t>(topology_.device(device).node);
  return classes_[nodes_[node].node_class];
}

const PathTree& NodePaths::tree(DeviceId source) {
  NodeClass& node_class = class_of(source);
  return tree_of(node_class.graph, node_class.trees, number_in_node_[source]);
}

std::uint64_t NodePaths::cost(DeviceId from, DeviceId to) {
  return tree(from).cost(number_in_node_[to]);
}

std::uint64_t NodePaths::count(DeviceId from, DeviceId to) {
  return tree(from).count(number_in_node_[to]);
}

void NodePaths::append_path(DeviceId from, DeviceId to, std::uint64_t index,
                            std::vector<LinkId>& links) {
  const Node& node = nodes_[static_cast<std::size_t>(topology_.device(from).node)];
  for (const std::uint32_t number :
       tree(from).path(class_of(from).graph, number_in_node_[to], index)) {
    links.push_back(node.links[number]);
  }
}

std::vector<EndChoice> NodePaths::sorted_ends(NodeClass& node_class, std::uint32_t device) const {
  const PathTree& paths = tree_of(node_class.graph, node_class.trees, device);
  std::vector<EndChoice> ends;
  for (const std::uint32_t end : node_class.ends) {
    std::uint64_t cost = paths.cost(end);
    if (cost == forbidden) continue;
    // Leaving a node through another GPU is a relay like any other.
    if (end != device && node_class.kinds[end] == DeviceKind::gpu) cost += relay_cost;
    ends.push_back({cost, end, true});
  }
  std::stable_sort(ends.begin(), ends.end(),
                   [](const EndChoice& a, const EndChoice& b) { return a.cost < b.cost; });
  return ends;
}

/// GPUs that have the same nearest NICs share them out: of two GPUs and two NICs on one PCIe
/// switch, each GPU has one (as NCCL gives them out by the GPU's index).
void NodePaths::assign_ends(NodeClass& node_class, std::uint32_t device,
                            std::vector<EndChoice>& ends) const {
  const auto nearest = [](const std::vector<EndChoice>& choices) {
    std::vector<std::uint32_t> numbers;
    for (const EndChoice& choice : choices) {
      if (choice.cost == choices.front().cost) numbers.push_back(choice.end);
    }
    return numbers;
  };
  const std::vector<std::uint32_t> own = nearest(ends);
  if (own.size() < 2 || node_class.kinds[device] != DeviceKind::gpu) return;
  std::size_t sharers = 0;
  std::size_t index = 0;
  for (std::uint32_t other = 0; other < node_class.kinds.size(); ++other) {
    if (node_class.kinds[other] != DeviceKind::gpu) continue;
    if (nearest(sorted_ends(node_class, other)) != own) continue;
    if (other == device) index = sharers;
    ++sharers;
  }
  const std::size_t parts = std::min(sharers, own.size());
  for (std::size_t i = 0; i < own.size(); ++i) ends[i].assigned = i % parts == index % parts;
}

const std::vector<EndChoice>& NodePaths::ends_near(DeviceId device) {
  NodeClass& node_class = class_of(device);
  const std::uint32_t number = number_in_node_[device];
  if (!node_class.near[number]) {
    std::vector<EndChoice> ends = sorted_ends(node_class, number);
    assign_ends(node_class, number, ends);
    node_class.near[number] = std::move(ends);
  }
  return *node_class.near[number];
}

DeviceId NodePaths::end_device(DeviceId device, const EndChoice& choice) const {
  return nodes_[static_cast<std::size_t>(topology_.device(device).node)].devices[choice.end];
}

}  // namespace collsim
