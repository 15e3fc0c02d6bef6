#pragma once

#include <span>

#include "sim/plan.h"
#include "sim/topologies/routing.h"
#include "sim/topology.h"
#include "sim/transfer_cost.h"
#include "sim/wiring.h"

namespace collsim {

/// Lays a plan onto a machine: rank r runs on gpus[r], every connection takes the route that the
/// router gives it (channels are different flows, so equal-cost paths spread them), links carry
/// their bandwidth times the calibrated efficiency. Only links that are used become resources.
Wiring wire(const Plan& plan, const Topology& topology, const Router& router,
            std::span<const DeviceId> gpus, const TransferCost& cost);

}  // namespace collsim
