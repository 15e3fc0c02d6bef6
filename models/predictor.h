#pragma once

#include <cstdint>
#include <vector>

#include "models/bounds.h"
#include "models/estimate.h"
#include "models/scenario.h"
#include "sim/algorithms/registry.h"
#include "sim/engine.h"
#include "sim/plan.h"
#include "sim/topology.h"
#include "sim/transfer_cost.h"
#include "sim/wiring.h"

namespace collsim {

/// How long one call takes, and how far that is from what is possible.
struct Prediction {
  Bytes size;
  Seconds time;
  std::uint32_t channels = 1;  ///< that carried data
  Bounds bounds;
  EstimateMethod method = EstimateMethod::closed_form;  ///< of an estimate
  std::uint64_t transfers = 0;                          ///< messages simulated; 0 for an estimate
};

/// One way of running a collective on one machine, laid out once and asked at many sizes.
///
/// Every answer is checked against its lower bounds: one that is below them (by more than rounding)
/// is a bug of ours and throws std::logic_error instead of being returned.
class Predictor {
 public:
  /// Uses the first `ranks` GPUs; `root` counts only where the collective has one. Throws
  /// InputError where the machine has fewer, or the algorithm does not run on that placement.
  Predictor(const Topology& topology, const TransferCost& cost, Collective collective,
            const RunSpec& run, Rank ranks, Rank root = 0);

  /// By simulation. `engine` is native or simgrid.
  Prediction simulate(Bytes size, Engine engine) const;
  /// By the analytic model.
  Prediction estimate(Bytes size) const;
  /// Where the time goes if no link were shared.
  CriticalPath critical_path(Bytes size) const;

  Rank ranks() const { return plan_.ranks(); }
  const RunSpec& run() const { return run_; }
  const Plan& plan() const { return plan_; }

 private:
  Binding bind(Bytes size) const;
  Prediction guarded(Prediction prediction, const Binding& binding) const;

  const Topology* topology_;
  TransferCost cost_;
  RunSpec run_;
  std::vector<DeviceId> gpus_;
  Placement placement_;
  Plan plan_;
  Wiring wiring_;
};

/// What collsim's element type is: nccl-tests' default, float.
inline constexpr Bytes element_size{4};

}  // namespace collsim
