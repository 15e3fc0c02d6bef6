#pragma once

#include <cstdint>

#include "models/estimate/call_time.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Grouped sends and receives by what the busiest of each kind has to do, for every byte of a part.
struct MessageShape {
  LinkKind slowest = LinkKind::nvlink;  ///< the slowest link of a rank,
  LinkKind kind = LinkKind::nvlink;     ///< and that of a hop
  double speed = 1;                     ///< LaneSetting::speed of the slowest rank
  double latency = 0;                   ///< seconds, of a hop's links
  double link_load = 0;                 ///< seconds for a byte of each part, of the busiest link
  double block_sends = 0;               ///< parts that the busiest thread block sends
  double block_receives = 0;            ///< and receives
  double lane_sends = 1;                ///< parts that follow each other in a lane that sends
  double lane_receives = 1;             ///< and in one that receives
  double lanes = 1;                     ///< peers that a thread block serves at once
  double served_sends = 0;              ///< parts that the busiest thread of a proxy sends
  double served_receives = 0;           ///< and receives
  bool has_proxy = false;               ///< whether the CPU carries what goes over a network
};

/// A call of sends and receives whose messages are cut.
struct MessageCall {
  Protocol protocol = Protocol::simple;
  std::uint32_t warps_of_block = 0;
  std::uint32_t warps = 0;   ///< warps that carry a message
  double part = 0;           ///< bytes of the largest part,
  double mean_part = 0;      ///< and of all on average
  bool synchronized = true;  ///< whether nothing gets thread blocks out of step with each other
  double chunk = 0;          ///< bytes of a part that travel at a time
  const ProxyConstants* proxy = nullptr;
};

/// The time of a group of messages. Derivation: docs/formulas.md.
FormulaTime message_time(const MessageShape& shape, const ThreadBlockCosts& costs,
                         const MessageCall& call);

}  // namespace collsim
