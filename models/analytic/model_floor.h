#pragma once

#include "sim/cost/calibration.h"
#include "sim/execution/binding.h"
#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"

namespace collsim {

/// What a prediction cannot beat by the model's own constants, launch included: the plan's loads
/// over calibrated capacities. No bound of the real machine (Bounds), which may do better than its
/// calibration; below it the program has a bug. Derivations: docs/algorithms.md.
struct ModelFloor {
  Seconds busiest_link;   ///< it must carry all bytes that the plan puts there
  Seconds busiest_block;  ///< the same of a thread block, served as well as others on average
  Seconds latency;        ///< what one rank contributes must reach another, hop by hop

  /// Of links and thread blocks.
  Seconds busiest_resource() const;
  Seconds largest() const;
};

/// The floor of one call.
ModelFloor model_floor(const Plan& plan, const Binding& binding, const Wiring& wiring,
                       const Calibration& cost, Protocol protocol);

/// What no simulation may come out below: as the floor, but for a thread block whose slices all
/// have the best luck (Calibration::jitter).
Seconds surely_needed(const ModelFloor& floor, double jitter);

}  // namespace collsim
