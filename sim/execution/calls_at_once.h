#pragma once

#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/execution/execution.h"
#include "sim/execution/wiring.h"
#include "sim/fabric/fabric.h"

namespace collsim {

/// The wirings in terms of one machine: resources that stand for the same of it, by their origins,
/// become one, and all have the same capacities. Where two say different ones, the lesser counts.
/// Resources without an origin stay each wiring's own.
std::vector<Wiring> joined_wirings(std::span<const Wiring* const> wirings);

/// How long each of several calls takes that are launched at one instant on one machine: as one
/// execution, each with its own channels, thread blocks and FIFOs, on the links and the memory that
/// they have in common (a fresh fabric). What their events say of the machine does not count, nor
/// do bursts. One call takes what execute() says of it.
std::vector<Seconds> execute_at_once(std::span<const Execution> calls, Fabric& fabric);

}  // namespace collsim
