#pragma once

#include <span>

#include "sim/plan.h"
#include "sim/topology.h"
#include "sim/transfer_cost.h"
#include "sim/wiring.h"

namespace collsim {

/// Lays a plan onto a machine: rank r runs on gpus[r], every connection takes the route that a
/// Router gives it (channels are different flows, so equal-cost paths spread them), links carry
/// their bandwidth times the calibrated efficiency. Only links that are used become resources.
/// Switch agents sit where AgentSites says, and switches on the way to the network's add up and
/// copy as well, so that the connections of a group load a link that they share but once. Throws
/// InputError where two participants that talk have no way to each other, or the machine lacks the
/// switches of the plan.
Wiring wire(const Plan& plan, const Topology& topology, std::span<const DeviceId> gpus,
            const TransferCost& cost);

}  // namespace collsim
