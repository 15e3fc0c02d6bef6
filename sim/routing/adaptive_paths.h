#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/routing/network_paths.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Ways across a network whose switches send packets where least is, also over a switch that is not
/// on a shortest way (Valiant's; UGAL: Kim et al., ISCA 2008, section 4). A flow that is new takes
/// the way whose busiest link has least flows by its bandwidth, of equally busy ones the shortest,
/// and keeps it. So a flow leaves the shortest ways only where a cable is busier than its ends.
/// What a way has depends on the flows that came before.
class AdaptivePaths {
 public:
  /// Finds ways of the topology. Both arguments must outlive it.
  AdaptivePaths(const Topology& topology, NetworkPaths& network);

  /// Appends the links of the way of a new flow between two ends that are joined. `hash` chooses
  /// among the shortest ways, which are equally good.
  void append_path(DeviceId from, DeviceId to, std::uint64_t hash, std::vector<LinkId>& links);

 private:
  /// How busy the busiest link would be, and how many links there are.
  using Cost = std::pair<double, std::size_t>;

  double busy_with_one_more(LinkId id) const;
  Cost cost_of(const std::vector<LinkId>& way) const;
  bool is_bound_by_its_ends(const std::vector<LinkId>& way) const;
  std::vector<LinkId> best_path(DeviceId from, DeviceId to, std::uint64_t hash);

  const Topology& topology_;
  NetworkPaths& network_;
  std::vector<std::uint32_t> flows_;  // by link of the fabric
};

}  // namespace collsim
