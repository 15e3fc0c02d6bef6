#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// The links that a transfer crosses, in order.
struct Route {
  std::vector<LinkId> links;
  Seconds latency;                       ///< the sum of the links'
  BytesPerSecond bandwidth = unlimited;  ///< the least of the links'
};

/// Finds the routes that hardware and NCCL take. The best route is
///  1. inside a node, one that stays there, NVLink before PCIe before the link between sockets;
///  2. between nodes, one that leaves by the NIC nearest to the sender and enters by the one
///  nearest
///     to the receiver (a farther NIC only where these are not joined, as on separate rails), by
///     the fewest links, and of equally near NICs by those that are the two GPUs' own;
///  3. through another GPU only where nothing else leads there.
/// Among equally good ones the choice is by hash (ECMP). Where the topology takes_detours(), a flow
/// that is new goes across the network as AdaptivePaths says. Keeps what it has searched, so that a
/// route is fast from the second one of its kind on; not for use by several threads at once. The
/// topology must outlive it.
class Router {
 public:
  explicit Router(const Topology& topology);
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  /// One of the best routes: always the same one for the same two devices and flow; different flows
  /// spread evenly. From a device to itself it is empty. Throws InputError when there is no way.
  /// Where the topology takes_detours() a flow's way also depends on the flows asked for before.
  Route route(DeviceId from, DeviceId to, std::uint64_t flow = 0);
  /// Every best route (the first 2^18 of each stretch).
  std::vector<Route> all_shortest(DeviceId from, DeviceId to);

 private:
  class Search;
  Route new_route(DeviceId from, DeviceId to, std::uint64_t flow);

  std::unique_ptr<Search> search_;
};

}  // namespace collsim
