#pragma once

#include <functional>
#include <span>

#include "sim/plan.h"
#include "sim/topologies/routing.h"
#include "sim/topology.h"
#include "sim/transfer_cost.h"
#include "sim/wiring.h"

namespace collsim {

/// Whether what one rank sends another of its node goes through the receiver's host memory.
using ThroughHostMemory = std::function<bool(Rank from, Rank to)>;

/// Lays a plan onto a machine: rank r runs on gpus[r], every connection takes the route that a
/// Router gives it (channels are different flows, so equal-cost paths spread them), links carry
/// their bandwidth times the calibrated efficiency. Only links that are used become resources.
/// Switch agents sit where AgentSites says, and switches on the way to the network's add up and
/// copy as well, so that the connections of a group load a link that they share but once. Throws
/// InputError where two participants that talk have no way to each other, or the machine lacks the
/// switches of the plan.
Wiring wire(const Plan& plan, const Topology& topology, std::span<const DeviceId> gpus,
            const TransferCost& cost, const ThroughHostMemory& through_host_memory = {});

/// The way from one GPU to another of its node through host memory: NCCL's buffer lies on the
/// receiver's side (NCCL_SHM_LOCALITY's default). The direct one where there is no CPU.
Route route_through_host(const Topology& topology, Router& router, DeviceId from, DeviceId to);

/// Gives every link the capacity that these costs say it really has.
void set_efficiency(Wiring& wiring, const TransferCost& cost);

}  // namespace collsim
