#pragma once

#include <span>
#include <string_view>

#include "sim/binding.h"
#include "sim/plan.h"
#include "sim/topology.h"
#include "sim/transfer_cost.h"
#include "sim/units.h"
#include "sim/wiring.h"

namespace collsim {

/// Times that no execution can beat, launch included. Derivations and sources: docs/algorithms.md.
struct Bounds {
  /// Of the machine: whatever the algorithm, the busiest cut must carry the data.
  Seconds cut;
  /// Of the plan: its busiest resource must carry all bytes that it puts there.
  Seconds busiest_resource;
  /// Of the plan: what one rank contributes must reach another, hop by hop.
  Seconds latency;

  Seconds largest() const;
};

/// The bounds of one call. `gpus[r]` is the device of rank r.
Bounds lower_bounds(const Plan& plan, const Binding& binding, const Wiring& wiring,
                    const Topology& topology, std::span<const DeviceId> gpus,
                    const TransferCost& cost, Protocol protocol);

/// Throws std::logic_error where a time is below its largest bound by more than rounding and by
/// more than luck with links that serve slices unevenly (Unevenness): a bug of ours,
/// and no answer to give anybody. `what` begins the message.
void check_bounds(Seconds time, const Bounds& bounds, const Unevenness& unevenness,
                  std::string_view what);

}  // namespace collsim
