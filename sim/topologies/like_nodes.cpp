#include "sim/topologies/like_nodes.h"

#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace collsim {

namespace {

/// From which device of a node, to which of the fabric, and what a cable is like.
using CableKey =
    std::tuple<std::uint32_t, DeviceId, LinkKind, std::uint32_t, double, double, std::int64_t>;
using NodeKey = std::pair<const IndexedGraph*, std::vector<CableKey>>;

/// Nothing of a node that is like no other.
std::optional<NodeKey> key_of(const Topology& topology, std::uint32_t node) {
  const NodePart part = topology.node(node);
  NodeKey key{part.graph, {}};
  const auto size = static_cast<std::uint32_t>(part.graph->graph().devices.size());
  for (std::uint32_t number = 0; number < size; ++number) {
    for (const LinkId id : topology.fabric_links_from(part.first_device + number)) {
      const Link link = topology.link(id);
      if (link.to < topology.first_fabric_device()) return std::nullopt;
      key.second.emplace_back(number, link.to, link.kind, link.count, link.bandwidth.value,
                              link.latency.value, link.burst.size.count);
    }
  }
  return key;
}

}  // namespace

std::vector<std::uint32_t> first_like_nodes(const Topology& topology) {
  std::vector<std::uint32_t> firsts;
  std::map<NodeKey, std::uint32_t> known;
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    auto key = key_of(topology, node);
    firsts.push_back(key ? known.emplace(std::move(*key), node).first->second : node);
  }
  return firsts;
}

}  // namespace collsim
