#pragma once

#include "sim/cost/calibration.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"

namespace collsim {

/// The time that no prediction can beat with the calibration's constants, launch included: the
/// plan's loads over calibrated capacities. The real machine may beat it, but not its Bounds. A
/// prediction below the floor is a bug. Derivations: docs/algorithms.md.
struct ModelFloor {
  Seconds busiest_link;   ///< it must carry all bytes that the plan puts there
  Seconds busiest_block;  ///< the same of a thread block, served as well as others on average
  Seconds latency;        ///< what one rank contributes must reach another, hop by hop

  /// The time of the busiest link or thread block.
  Seconds busiest_resource() const;
  Seconds largest() const;
};

/// The floor of one call.
ModelFloor model_floor(const Plan& plan, const DataPartition& partition, const Wiring& wiring,
                       const Calibration& cost, Protocol protocol);

/// The least time that a simulation may return: the floor, but for a thread block whose slices are
/// all served best (Calibration::jitter).
Seconds surely_needed(const ModelFloor& floor, double jitter);

}  // namespace collsim
