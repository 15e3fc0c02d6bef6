#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/base/units.h"
#include "sim/topologies/graph.h"
#include "sim/topologies/id_list.h"
#include "sim/topologies/indexed_graph.h"

namespace collsim {

using DeviceId = std::uint32_t;
using LinkId = std::uint32_t;
using SharedResourceId = std::uint32_t;
/// The index of a process (one per GPU) in a collective, 0 to N-1.
using Rank = std::uint32_t;

/// A device of a topology, as its node's template has it. Its name is Topology::device_name().
struct Device {
  DeviceKind kind = DeviceKind::gpu;
  std::int32_t node = -1;      ///< -1: part of the fabric
  std::string_view model;      ///< as GraphDevice's; lives as long as the topology
  BytesPerSecond port_rate{};  ///< as GraphDevice's, and so are the others
  bool gpudirect = true;
  std::string_view card;
  bool reduces = false;
};

/// One direction of a cable or trunk. Links come in pairs: `reverse` is the other direction, with
/// its own capacity. A trunk of `count` equal parallel lanes is one link whose `bandwidth` is the
/// sum, since hardware stripes over them.
struct Link {
  DeviceId from = 0;
  DeviceId to = 0;
  LinkKind kind = LinkKind::nvlink;
  std::uint32_t count = 1;
  BytesPerSecond bandwidth;  ///< of all lanes together, in this direction
  Seconds latency;
  LinkId reverse = 0;
  Burst burst{};
};

/// A capacity that several links draw on at once, beyond their own: a GPU's NVLink egress, a
/// socket's host memory. A transfer loads it once, however many of the listed links it crosses. Its
/// name is Topology::shared_resource_name().
struct SharedResource {
  BytesPerSecond bandwidth;
  IdList links;
};

/// One node's part of a topology: its template, and the ids from which its devices, links and
/// shared resources count up in the order of the template.
struct NodePart {
  const IndexedGraph* graph = nullptr;  ///< equal pointers are equal templates
  DeviceId first_device = 0;
  LinkId first_link = 0;
  SharedResourceId first_share = 0;
};

/// A machine or cluster: devices joined by directed links. Ids count node by node, then come the
/// fabric's; both directions of a link follow each other. Equal nodes are stored once, as their
/// template, so that devices and links of nodes are made when asked for; cables of the fabric are
/// stored one by one. Immutable; made by TopologyBuilder.
class Topology {
 public:
  const std::string& name() const { return name_; }
  /// The calibration that the file names ("hgx-h200"), or empty.
  const std::string& calibration() const { return calibration_; }

  Device device(DeviceId id) const;
  Link link(LinkId id) const;
  SharedResource shared_resource(SharedResourceId id) const;
  using Devices = ItemList<Topology, Device, &Topology::device>;
  using Links = ItemList<Topology, Link, &Topology::link>;
  using SharedResources = ItemList<Topology, SharedResource, &Topology::shared_resource>;
  Devices devices() const;
  Links links() const;
  SharedResources shared_resources() const;

  /// Links that start at a device, in the order of their ids.
  IdList links_from(DeviceId id) const;
  /// Those links from a device that are cables of the fabric.
  std::span<const LinkId> fabric_links_from(DeviceId id) const { return fabric_from_[id]; }
  /// The shared resources that a link draws on, in the order of their ids.
  IdList shares_of_link(LinkId id) const;
  /// Every GPU, node by node in file order: the GPU of rank r is gpus()[r].
  std::span<const DeviceId> gpus() const { return gpus_; }

  std::uint32_t node_count() const { return node_count_; }
  NodePart node(std::uint32_t number) const;
  /// A node's template, to make another topology of it.
  std::shared_ptr<const IndexedGraph> node_template(std::uint32_t number) const;
  /// The node of a device, or -1.
  std::int32_t node_of(DeviceId id) const;
  /// Devices, links and shared resources from here on are the fabric's.
  DeviceId first_fabric_device() const { return first_fabric_.first_device; }
  LinkId first_fabric_link() const { return first_fabric_.first_link; }
  SharedResourceId first_fabric_share() const { return first_fabric_.first_share; }
  std::span<const GraphDevice> fabric_devices() const { return fabric_devices_; }
  /// Whether a Router also takes ways between switches that are not the shortest, where those are
  /// busy.
  bool takes_detours() const { return takes_detours_; }

  /// The name of a device, unique in the topology: "node3/gpu7", "leaf0".
  std::string device_name(DeviceId id) const;
  std::optional<DeviceId> find_device(std::string_view name) const;
  /// Names one direction of a link: "node0/gpu1 -> node0/nvswitch0".
  std::string link_name(LinkId id) const;
  std::string shared_resource_name(SharedResourceId id) const;

 private:
  friend class TopologyBuilder;

  /// `count` nodes of one template that follow each other.
  struct NodeRun {
    std::uint32_t first_node = 0;
    std::uint32_t count = 0;
    NodePart first;

    NodePart part(std::uint32_t place) const;
  };
  /// What equal cables have in common.
  struct CableType {
    LinkKind kind = LinkKind::network;
    std::uint32_t count = 1;
    BytesPerSecond bandwidth;
    Seconds latency;
    Burst burst{};
  };
  struct Cable {
    DeviceId from = 0;
    DeviceId to = 0;
    std::uint32_t type = 0;
  };
  struct FabricShare {
    std::string name;
    BytesPerSecond bandwidth;
    std::vector<LinkId> links;
  };
  /// Something of a node: the node, its part and the number there.
  struct Place {
    std::uint32_t node = 0;
    NodePart part;
    std::uint32_t number = 0;
  };

  const NodeRun& run_of_node(std::uint32_t number) const;
  Place place_of_device(DeviceId id) const;
  Place place_of_link(LinkId id) const;
  Place place_of_share(SharedResourceId id) const;

  std::string name_;
  std::string calibration_;
  std::vector<NodeRun> runs_;
  std::vector<std::shared_ptr<const IndexedGraph>> templates_;  // by run
  NodePart first_fabric_;
  std::vector<GraphDevice> fabric_devices_;
  std::vector<CableType> cable_types_;
  std::vector<Cable> cables_;
  std::vector<FabricShare> fabric_shares_;
  Rows fabric_from_;            // by device; ids
  Rows fabric_shares_of_link_;  // by link of the fabric; ids; no rows without shares
  std::vector<DeviceId> gpus_;
  std::uint32_t node_count_ = 0;
  bool takes_detours_ = false;
};

/// Collects nodes, then what joins them. Ids count up in the order of addition.
class TopologyBuilder {
 public:
  explicit TopologyBuilder(std::string name, std::string calibration = {});
  /// Adds nodes of one template, before anything of the fabric; their devices are named
  /// "node<n>/<name in the template>".
  void add_nodes(std::shared_ptr<const IndexedGraph> node, std::uint32_t count);
  void add_nodes(Graph node, std::uint32_t count);
  /// The ids of a node that was added.
  NodePart node(std::uint32_t number) const { return topology_.node(number); }
  std::uint32_t node_count() const { return topology_.node_count_; }
  /// Adds a device that belongs to no node.
  DeviceId add_device(GraphDevice device);
  /// Adds both directions of a cable that belongs to no template and returns the id of `from` to
  /// `to`; the other is the next id.
  LinkId add_link(DeviceId from, DeviceId to, LinkKind kind, BytesPerSecond bandwidth,
                  Seconds latency, std::uint32_t count = 1, Burst burst = {});
  /// Adds a resource that cables of the fabric share.
  SharedResourceId add_shared_resource(std::string name, BytesPerSecond bandwidth,
                                       std::vector<LinkId> links);
  /// Gives every network switch so far Device::reduces.
  void let_network_reduce();
  /// Makes the topology one whose network takes detours (Topology::takes_detours()).
  void let_network_take_detours() { topology_.takes_detours_ = true; }
  Topology build() &&;

 private:
  using TypeKey = std::tuple<LinkKind, std::uint32_t, double, double, std::int64_t, double>;

  std::uint32_t find_type(const Topology::CableType& type);
  void index_fabric();

  Topology topology_;
  std::map<TypeKey, std::uint32_t> types_;
};

}  // namespace collsim
