#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/routing/network_paths.h"
#include "sim/routing/path_tree.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// What passing through a GPU costs a path: more than any other way.
inline constexpr std::uint64_t relay_cost = 1'000'000'000;

/// A way between a device and an end of its node.
struct EndChoice {
  std::uint64_t cost = 0;
  std::uint32_t end = 0;  ///< number of the device in its node
  bool assigned = true;   ///< false for a NIC that is as near, but another GPU's
};

/// Cheapest paths inside nodes. Nodes that are wired alike are one class and searched once.
class NodePaths {
 public:
  NodePaths(const Topology& topology, const NetworkPaths& network);

  /// The cost between two devices of one node; `forbidden` if its inside does not join them.
  std::uint64_t cost(DeviceId from, DeviceId to);
  std::uint64_t count(DeviceId from, DeviceId to);
  void append_path(DeviceId from, DeviceId to, std::uint64_t index, std::vector<LinkId>& links);

  /// The ends of the device's node that it reaches, nearest first.
  const std::vector<EndChoice>& ends_near(DeviceId device);
  /// The device of `end` in the node of `device`.
  DeviceId end_device(DeviceId device, const EndChoice& choice) const;

 private:
  struct NodeClass {
    PathGraph graph;
    std::vector<DeviceKind> kinds;
    std::vector<std::uint32_t> ends;
    std::vector<std::optional<PathTree>> trees;               // by device; made when asked for
    std::vector<std::optional<std::vector<EndChoice>>> near;  // likewise
  };
  /// A node's class, and the cables of the fabric between two of its devices, both directions:
  /// they follow the links of its template.
  struct Node {
    std::uint32_t node_class = 0;
    std::vector<LinkId> own_cables;
  };
  /// What tells classes apart: the template, the ends, and the ends of the node's own cables.
  using Signature = std::tuple<const IndexedGraph*, std::vector<std::uint32_t>,
                               std::vector<std::tuple<std::uint32_t, std::uint32_t, LinkKind>>>;

  void find_own_cables();
  Signature signature(std::uint32_t node, const NetworkPaths& network) const;
  NodeClass make_class(const Signature& signature) const;
  Node& node_of(DeviceId device);
  std::uint32_t number_in_node(DeviceId device) const;
  NodeClass& class_of(DeviceId device);
  const PathTree& tree(DeviceId source);
  std::vector<EndChoice> sorted_ends(NodeClass& node_class, std::uint32_t device) const;
  void assign_ends(NodeClass& node_class, std::uint32_t device, std::vector<EndChoice>& ends) const;

  const Topology& topology_;
  std::vector<Node> nodes_;
  std::vector<NodeClass> classes_;
};

/// The costs that make "cheapest" mean what hardware and NCCL do: NVLink before PCIe, a PCIe switch
/// before a host bridge, a host bridge before the link between sockets (NCCL's path classes NVL,
/// PIX, PHB, SYS), and another GPU only where nothing else leads on.
std::uint64_t link_cost(LinkKind kind);
std::uint64_t crossing_cost(DeviceKind kind);

}  // namespace collsim
