#pragma once

#include <cstdint>
#include <vector>

#include "models/estimate/call_time.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/plan/collective.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// What reduces stripes at heads: how ranks reach the heads of their node, and those each other.
struct StripeShape {
  Collective collective = Collective::all_reduce;
  bool in_switch = true;   ///< NVSwitches add up and copy; else heads do, GPU to GPU
  bool over_tree = false;  ///< heads of a stripe form a tree; else the network's switches add up
  double ranks_per_node = 1;
  double stripes = 1;
  double heads_per_rank = 1;  ///< the most stripes that one rank heads
  double nodes = 1;
  LinkKind slowest = LinkKind::nvlink;  ///< the slowest link of a rank
  double speed = 1;                     ///< LaneSetting::speed of the slowest rank
  LinkKind local_kind = LinkKind::nvlink;
  double local_latency = 0;    ///< latency of a hop within the node
  double local_load = 0;       ///< seconds for a byte a channel on a rank's way out or in
  double network_latency = 0;  ///< latency of a hop between nodes, without alpha
  double network_load = 0;     ///< seconds for a byte a channel and stripe on the busiest way
  double network_hop = 0;      ///< the same of one hop alone
  double slow_latency = 0;     ///< what slow hops add to the way there and back,
  double slow_hop = 0;         ///< and seconds for a byte of each way
  double proxy_sends = 0;      ///< connections that the busiest network thread sends on,
  double proxy_receives = 0;   ///< and receives on; 0 where no proxy carries messages
  double levels = 0;           ///< levels of the tree
  double children = 0;         ///< the most children of a head
  bool operator==(const StripeShape&) const = default;
};

/// The time of a call by stripes. Derivation: docs/formulas.md.
FormulaTime stripe_time(const StripeShape& shape, const ThreadBlockCosts& costs,
                        const PipelineCall& call);

}  // namespace collsim
