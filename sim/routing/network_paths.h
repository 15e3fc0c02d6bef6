#pragma once

#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "sim/topologies/rows.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// All shortest paths between devices that stand on the network, through switches only. Distances
/// are kept per destination switch, made when first asked for: ends of one leaf share them, so that
/// 16,384 ends on 512 leaves cost 512 searches over the switches, at most.
class NetworkPaths {
 public:
  static constexpr std::uint32_t unreachable = std::numeric_limits<std::uint32_t>::max();

  explicit NetworkPaths(const Topology& topology);
  /// Whether a device of a node has a link that leaves the node.
  bool is_end(DeviceId device) const;
  /// The number of links from one end to another.
  std::uint32_t hops(DeviceId from, DeviceId to);
  /// How many paths have that many links, up to path_count_limit.
  std::uint64_t count(DeviceId from, DeviceId to);
  /// Appends the links of path number `index` < count().
  void append_path(DeviceId from, DeviceId to, std::uint64_t index, std::vector<LinkId>& links);
  /// The links of a way that goes over one switch of the fabric, number `over`: by a shortest path
  /// to it, and by one from there on. Empty where there is none that crosses no cable twice.
  std::vector<LinkId> path_over(DeviceId from, DeviceId to, std::uint32_t over,
                                std::uint64_t index);
  /// The number of the fabric's switches.
  std::uint32_t switch_count() const;

 private:
  /// The way to one switch, from every switch.
  struct Distances {
    std::vector<std::uint32_t> hops;
    std::vector<std::uint32_t> counts;
  };

  /// A link of a device of a node that leaves the node.
  struct Port {
    LinkId out = 0;
    LinkId in = 0;            ///< the way back
    std::uint32_t entry = 0;  ///< the switch at its other end; unreachable: a device of a node
  };

  const Distances& distances_to(std::uint32_t switch_index);
  Distances search(std::uint32_t switch_index) const;
  std::uint32_t hops_by(const Port& first, const Port& last);
  std::uint64_t count_by(const Port& first, const Port& last);

  const std::vector<Port>& ports(DeviceId device);
  std::uint32_t index_of_switch(DeviceId device) const;
  void append_between(std::uint32_t entry, std::uint32_t exit, std::uint64_t index,
                      std::vector<LinkId>& links);

  const Topology& topology_;
  Rows switch_links_;                                      // by switch: to other switches
  std::vector<Distances> distances_;                       // by switch; empty until asked for
  std::unordered_map<DeviceId, std::vector<Port>> ports_;  // of those asked for
};

}  // namespace collsim
