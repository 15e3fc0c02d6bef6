#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/division.h"
#include "sim/topologies/network.h"

namespace collsim {

namespace {

/// A dragonfly (Kim, Dally, Scott and Abts, "Technology-Driven, Highly-Scalable Dragonfly
/// Topology", ISCA 2008): p ends on a router, a routers in a group, h cables of each router to
/// other groups.
struct Dragonfly {
  Cable cable;
  std::uint32_t ports = 16;        ///< p
  std::uint32_t routers = 32;      ///< a
  std::uint32_t local_cables = 1;  ///< between every two routers of a group
  std::uint32_t global_ports = 0;  ///< h
  bool rail_optimised = false;     ///< the i-th ends of p nodes in a row share a router
};

constexpr std::uint32_t router_limit = 4'096;

Dragonfly read_dragonfly(const YamlValue& fabric) {
  const YamlMapping keys =
      fabric.mapping({"kind", "attach", "link", "ports", "routers", "local_cables", "global_ports",
                      "rail_optimised", "routing"});
  Dragonfly dragonfly;
  dragonfly.cable = read_cable(keys);
  dragonfly.ports = read_count(keys, "ports", dragonfly.ports, router_limit);
  dragonfly.routers = read_count(keys, "routers", dragonfly.routers, router_limit);
  dragonfly.local_cables = read_count(keys, "local_cables", 1, router_limit);
  // As many as ends: what balances the load of uniform traffic (same source, section 3.1).
  dragonfly.global_ports = read_count(keys, "global_ports", dragonfly.ports, router_limit);
  if (const auto rails = keys.find("rail_optimised")) dragonfly.rail_optimised = rails->boolean();
  return dragonfly;
}

class DragonflyBuilder {
 public:
  DragonflyBuilder(TopologyBuilder& builder, const YamlValue& fabric, const Dragonfly& dragonfly)
      : builder_(builder), fabric_(fabric), dragonfly_(dragonfly) {}

  void build(const NodeEnds& ends) {
    add_routers(ends);
    for (const auto& group : groups_) join_routers(group);
    join_groups();
  }

 private:
  /// The router of every end, node by node. Ends fill one router after the other; or, where rails
  /// are, those of a group of nodes lie on as many routers as a node has ends.
  std::vector<std::size_t> routers_of(const NodeEnds& ends) const {
    std::vector<std::size_t> routers;
    const std::size_t rails = dragonfly_.rail_optimised ? equal_end_count(fabric_, ends) : 0;
    for (std::size_t node = 0; node < ends.size(); ++node) {
      for (std::size_t i = 0; i < ends[node].size(); ++i) {
        routers.push_back(rails > 0 ? node / dragonfly_.ports * rails + i
                                    : routers.size() / dragonfly_.ports);
      }
    }
    return routers;
  }

  /// Routers fill one group after the other. Groups are equal: the last one has routers without
  /// ends.
  void add_routers(const NodeEnds& ends) {
    const std::vector<std::size_t> router_of_end = routers_of(ends);
    const std::size_t used = router_of_end.back() + 1;
    const std::size_t size = std::min<std::size_t>(used, dragonfly_.routers);
    const std::size_t count = divide_up(used, size);
    if (count * size > 4 * std::size_t{router_limit}) {
      fabric_.fail(fmt::format("this dragonfly has {} routers", count * size), "at most 16384");
    }
    for (std::size_t i = 0; i < count * size; ++i) {
      if (i % size == 0) groups_.emplace_back();
      groups_.back().push_back(add_network_switch(builder_, "router", i));
    }
    std::size_t place = 0;
    for (const auto& of_node : ends) {
      for (const DeviceId end : of_node) {
        const std::size_t router = router_of_end[place++];
        add_cable(builder_, end, groups_[router / size][router % size], dragonfly_.cable);
      }
    }
  }

  void join(DeviceId a, DeviceId b, std::size_t cables) {
    add_trunk(builder_, a, b, static_cast<double>(cables) * dragonfly_.cable.bandwidth,
              dragonfly_.cable);
  }

  void join_routers(const std::vector<DeviceId>& group) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = i + 1; j < group.size(); ++j) {
        join(group[i], group[j], dragonfly_.local_cables);
      }
    }
  }

  /// All global cables of a group, shared out evenly between the other groups. The cables to one of
  /// them go to routers that follow one another.
  void join_groups() {
    if (groups_.size() < 2) return;
    const std::size_t routers = groups_.front().size();
    const std::size_t others = groups_.size() - 1;
    const std::size_t cables = routers * dragonfly_.global_ports / others;
    if (cables == 0) {
      fabric_.fail(fmt::format("{} groups, but only {} cables from each to the others",
                               groups_.size(), routers * dragonfly_.global_ports),
                   "more 'routers' in a group, or more 'global_ports'");
    }
    for (std::size_t from = 0; from < groups_.size(); ++from) {
      for (std::size_t to = from + 1; to < groups_.size(); ++to) join_pair(from, to, cables);
    }
  }

  void join_pair(std::size_t from, std::size_t to, std::size_t cables) {
    const std::size_t routers = groups_.front().size();
    const std::size_t groups = groups_.size();
    // A group counts the others from itself upwards.
    const std::size_t first_of_from = (to - from - 1) * cables;
    const std::size_t first_of_to = (groups + from - to - 1) * cables;
    const std::size_t trunks = std::min(cables, routers);
    for (std::size_t k = 0; k < trunks; ++k) {
      const std::size_t in_trunk = cables / trunks + (k < cables % trunks ? 1 : 0);
      join(groups_[from][(first_of_from + k) % routers], groups_[to][(first_of_to + k) % routers],
           in_trunk);
    }
  }

  TopologyBuilder& builder_;
  const YamlValue& fabric_;
  const Dragonfly& dragonfly_;
  std::vector<std::vector<DeviceId>> groups_;
};

}  // namespace

void build_dragonfly(TopologyBuilder& builder, const YamlValue& fabric, const NodeEnds& ends) {
  const Dragonfly dragonfly = read_dragonfly(fabric);
  DragonflyBuilder(builder, fabric, dragonfly).build(ends);
  const YamlMapping keys = fabric.free_mapping();
  if (read_routing(keys, "minimal") == Routing::adaptive) builder.let_network_take_detours();
}

}  // namespace collsim
