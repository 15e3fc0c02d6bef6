#pragma once

#include <cstdint>
#include <string_view>

#include "models/call/call_compiler.h"

namespace collsim {

/// What keeps a call from being faster.
enum class Limit : std::uint8_t {
  latency,  ///< no resource is busy for half of the time: steps and their latency
  nvlink,
  pcie,
  cpu_link,  ///< between the sockets of a node
  host_memory,
  nic,           ///< the cables between nodes and switches
  uplink,        ///< cables between switches
  thread_block,  ///< what a GPU's thread blocks move
};
/// "latency", "NVLink", "PCIe", "CPU link", "memory", "NIC", "uplink", "SM".
std::string_view to_string(Limit limit);

/// The busiest resource of a call.
struct LimitUse {
  Limit limit = Limit::latency;
  double utilisation = 0;  ///< of the busiest resource, also where latency is the limit
  double uplink = 0;       ///< of the busiest cable between switches; 0: no byte crosses one
};

/// Of a call that takes so long.
LimitUse limit_of(const CompiledCall& call, Seconds time);

}  // namespace collsim
