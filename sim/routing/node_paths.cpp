#include "sim/routing/node_paths.h"

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
    : topology_(topology), nodes_(topology.node_count()) {
  find_own_cables();
  std::map<Signature, std::uint32_t> known;
  for (std::uint32_t node = 0; node < nodes_.size(); ++node) {
    const auto [entry, added] =
        known.emplace(signature(node, network), static_cast<std::uint32_t>(classes_.size()));
    if (added) classes_.push_back(make_class(entry->first));
    nodes_[node].node_class = entry->second;
  }
}

void NodePaths::find_own_cables() {
  for (LinkId id = topology_.first_fabric_link(); id < topology_.links().size(); id += 2) {
    const Link link = topology_.link(id);
    if (link.from >= topology_.first_fabric_device() ||
        link.to >= topology_.first_fabric_device()) {
      continue;
    }
    const std::int32_t node = topology_.node_of(link.from);
    if (topology_.node_of(link.to) != node) continue;
    nodes_[static_cast<std::size_t>(node)].own_cables.push_back(id);
    nodes_[static_cast<std::size_t>(node)].own_cables.push_back(id + 1);
  }
}

std::uint32_t NodePaths::number_in_node(DeviceId device) const {
  const auto node = static_cast<std::uint32_t>(topology_.node_of(device));
  return device - topology_.node(node).first_device;
}

NodePaths::Signature NodePaths::signature(std::uint32_t node, const NetworkPaths& network) const {
  const NodePart part = topology_.node(node);
  Signature signature{part.graph, {}, {}};
  auto& [graph, ends, cables] = signature;
  for (std::uint32_t number = 0; number < graph->graph().devices.size(); ++number) {
    if (network.is_end(part.first_device + number)) ends.push_back(number);
  }
  for (const LinkId id : nodes_[node].own_cables) {
    const Link link = topology_.link(id);
    cables.emplace_back(link.from - part.first_device, link.to - part.first_device, link.kind);
  }
  return signature;
}

NodePaths::NodeClass NodePaths::make_class(const Signature& signature) const {
  const auto& [indexed, ends, cables] = signature;
  const Graph& graph = indexed->graph();
  NodeClass node_class;
  node_class.ends = ends;
  for (const GraphDevice& device : graph.devices) {
    node_class.kinds.push_back(device.kind);
    node_class.graph.crossing.push_back(crossing_cost(device.kind));
  }
  auto& edges = node_class.graph.edges;
  edges.resize(graph.devices.size());
  std::uint32_t number = 0;
  for (const GraphLink& link : graph.links) {
    edges[link.from].push_back({link.to, number, number + 1, link_cost(link.kind)});
    edges[link.to].push_back({link.from, number + 1, number, link_cost(link.kind)});
    number += 2;
  }
  for (const auto& [from, to, kind] : cables) {  // both directions follow each other
    edges[from].push_back({to, number, number ^ 1U, link_cost(kind)});
    ++number;
  }
  node_class.trees.resize(graph.devices.size());
  node_class.near.resize(graph.devices.size());
  return node_class;
}

NodePaths::Node& NodePaths::node_of(DeviceId device) {
  return nodes_[static_cast<std::size_t>(topology_.node_of(device))];
}

NodePaths::NodeClass& NodePaths::class_of(DeviceId device) {
  return classes_[node_of(device).node_class];
}

const PathTree& NodePaths::tree(DeviceId source) {
  NodeClass& node_class = class_of(source);
  return tree_of(node_class.graph, node_class.trees, number_in_node(source));
}

std::uint64_t NodePaths::cost(DeviceId from, DeviceId to) {
  return tree(from).cost(number_in_node(to));
}

std::uint64_t NodePaths::count(DeviceId from, DeviceId to) {
  return tree(from).count(number_in_node(to));
}

void NodePaths::append_path(DeviceId from, DeviceId to, std::uint64_t index,
                            std::vector<LinkId>& links) {
  const NodePart part = topology_.node(static_cast<std::uint32_t>(topology_.node_of(from)));
  const std::size_t of_template = 2 * part.graph->graph().links.size();
  for (const std::uint32_t number :
       tree(from).path(class_of(from).graph, number_in_node(to), index)) {
    links.push_back(number < of_template ? part.first_link + number
                                         : node_of(from).own_cables[number - of_template]);
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
  const std::uint32_t number = number_in_node(device);
  if (!node_class.near[number]) {
    std::vector<EndChoice> ends = sorted_ends(node_class, number);
    assign_ends(node_class, number, ends);
    node_class.near[number] = std::move(ends);
  }
  return *node_class.near[number];
}

DeviceId NodePaths::end_device(DeviceId device, const EndChoice& choice) const {
  return topology_.node(static_cast<std::uint32_t>(topology_.node_of(device))).first_device +
         choice.end;
}

}  // namespace collsim
