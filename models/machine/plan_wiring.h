#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sim/cost/calibration.h"
#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"
#include "sim/routing/routing.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The NICs by which a hop leaves a node and enters the other.
struct HopNics {
  std::optional<DeviceId> relay;  ///< GPU beside `out` through which the sender goes
  DeviceId out = 0;
  DeviceId in = 0;
};

/// The hops that do not go the way that a Router finds. What is empty changes nothing.
struct HopRules {
  /// Whether what one rank sends another of its node goes through the receiver's host memory.
  std::function<bool(Rank from, Rank to)> through_host_memory;
  /// Whether what a rank sends by a NIC of its node, or gets by one, goes through the node's host
  /// memory: without GPUDirect.
  std::function<bool(Rank rank)> network_through_host;
  /// The NICs that NCCL takes for a hop to another node; none: the Router's.
  std::function<std::optional<HopNics>(std::uint32_t channel, Rank from, Rank to)> nics;
};

/// Lays a plan onto a machine: rank r runs on gpus[r], every connection takes the route that the
/// rules and a Router give it (channels are different flows, so equal-cost paths spread them),
/// links carry their bandwidth times the calibrated efficiency. Only links that are used become
/// resources; so does host memory, without limit until set_host_memory() knows the call. Switch
/// agents sit where SwitchPlacement says, and switches on the way to the network's add up and copy
/// as well, so that the connections of a group load a link that they share but once. Throws
/// InputError where two participants that talk have no way to each other, or the machine lacks the
/// switches of the plan.
Wiring wire(const Plan& plan, const Topology& topology, std::span<const DeviceId> gpus,
            const Calibration& cost, const HopRules& rules = {});

/// The links of a hop between two ranks. Through host memory, NCCL's buffer lies on the receiver's
/// side (NCCL_SHM_LOCALITY's default); without a CPU, and where the NICs that the rules name are
/// not joined, it is the Router's way. Without GPUDirect a hop between nodes goes from GPU to CPU
/// to NIC, and back on the other side.
std::vector<LinkId> links_of_hop(const Topology& topology, Router& router,
                                 std::span<const DeviceId> gpus, const HopRules& rules,
                                 std::uint32_t channel, Rank from, Rank to);

/// Gives every link the capacity that these costs say it really has.
void set_efficiency(Wiring& wiring, const Calibration& cost);

}  // namespace collsim
