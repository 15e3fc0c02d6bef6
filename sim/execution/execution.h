#pragma once

#include <cstdint>
#include <functional>

#include "sim/cost/calibration.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/machine_events.h"
#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"

namespace collsim {

/// Hears now and then how many messages an execution has sent. May end it by an exception.
using Watch = std::function<void(std::uint64_t messages)>;

struct FoundSymmetry;

/// One call of a collective, ready to run. References must outlive the call of execute().
struct Execution {
  const Plan& plan;
  const DataPartition& partition;
  const Wiring& wiring;
  const Calibration& cost;
  Protocol protocol = Protocol::simple;
  std::uint32_t warps = 0;  ///< of a thread block; 0 where there is none to speak of
  /// Calls in a row. A rank launches its next one as soon as its own part of the last is over, as
  /// benchmarks do; whoever only sends may then be calls ahead of those who receive.
  std::uint32_t calls = 1;
  const MachineEvents* events = nullptr;  ///< what is wrong with the machine; null: nothing
  bool steady = false;           ///< loops that repeat themselves may be skipped (SteadyState)
  const Watch* watch = nullptr;  ///< null: nobody
  /// Whether ranks and links that are equal may be simulated once for all (symmetry_of()). What
  /// comes out is the same to 1e-9.
  bool fold = true;
  FoundSymmetry* found = nullptr;  ///< where symmetry_of() keeps what it finds; null: nowhere

  /// What no call takes less than, however little it moves.
  Seconds issue() const {
    return cost.issue_of(plan.collective, plan.ranks(), busy_channels(plan, partition));
  }
  /// What goes before the first slice of each call.
  Seconds startup() const {
    return cost.startup(protocol, plan.collective, busy_channels(plan, partition), warps);
  }
};

}  // namespace collsim
