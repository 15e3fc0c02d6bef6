#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/moe/traffic_matrix.h"

namespace collsim {

/// The parts of bandwidths that an exchange reaches.
struct ReachedShares {
  double nvlink = 1;
  double network = 1;
};

/// What a link carries in an exchange, and how long it would take alone.
struct PortLoad {
  std::string name;
  double bytes = 0;
  Seconds time;
};

/// An exchange in which all flows begin at once.
struct PortExchange {
  Seconds time;                   ///< until the last flow has ended
  std::vector<PortLoad> ports{};  ///< used links and shared resources, the busiest first
  double delivered = 0;           ///< bytes that reached other ranks
};

/// An exchange of more ranks than this is not computed flow by flow.
inline constexpr Rank max_single_ranks = 512;

/// Moves what the matrix says over the machine's routes, by discrete events: flows share links
/// max-min fairly. What a rank sends itself goes nowhere. Of more ranks than max_single_ranks it
/// is balanced_exchange(). Throws InputError where two ranks are not joined.
PortExchange exchange_over_ports(const Topology& topology, std::span<const DeviceId> gpus,
                                 const TrafficMatrix& bytes, const ReachedShares& shares = {});

/// Does the same by one host alone: all ranks send and receive the same number of bytes, and hosts
/// are alike, so that it takes as long as the busiest port of one of them. Cables between switches
/// are taken to be filled evenly, layer by layer. Throws InputError where ranks or hosts differ.
PortExchange balanced_exchange(const Topology& topology, std::span<const DeviceId> gpus,
                               const TrafficMatrix& bytes, const ReachedShares& shares = {});

}  // namespace collsim
