#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/bounds/closed_form.h"
#include "models/bounds/critical_path.h"
#include "models/bounds/model_floor.h"
#include "sim/algorithms/registry.h"
#include "sim/cost/calibration.h"
#include "sim/cost/trust.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"

namespace collsim {

/// How an estimate came about.
enum class EstimateMethod : std::uint8_t {
  /// The algorithm's closed form; exact, since all hops of a level and all chunks are alike.
  closed_form,
  /// The plan's critical path as if no link were shared. Its transfer time is at least what the
  /// busiest link needs. Exact without contention, else between the bound and the truth.
  critical_path,
  /// A formula of classes of ranks and links (docs/estimate.md): near, not exact.
  formula,
  /// The messages of the call, or of small clusters from whose times it is continued: near.
  simulation,
};

struct Estimate {
  Seconds time;
  EstimateMethod method = EstimateMethod::closed_form;
  std::optional<FormulaTerms> form{};  ///< of a closed form, where it is so simple
};

/// The chunks of a call's loops, on all channels.
struct ChunkSizes {
  std::uint32_t count = 1;  ///< of a loop
  Bytes largest{};
  bool alike = true;  ///< whether none is smaller, nor any slice of one
};
ChunkSizes chunk_sizes(const DataPartition& partition, std::uint32_t count);

/// Whether a closed form can know what thread blocks cost: not the time of their work.
bool may_have_closed_form(const Calibration& cost, Protocol protocol);

/// The closed form, without launch, of a call of ranks with that placement and cut, of which one
/// loop has so many chunks. `plan` and `wiring` are its own, or those of fewer such ranks whose
/// hops are like all others. Nothing where the algorithm has no form or hops of a level are unlike.
/// Its method is `formula` where chunks are unlike, so that the form is near, not exact.
std::optional<Estimate> closed_estimate(const Plan& plan, const Wiring& wiring,
                                        const Placement& placement, const DataPartition& partition,
                                        std::uint32_t chunks, const ProtocolConstants& cost);

/// What a time is worth that was found so, on a machine whose constants are worth `basis`: only a
/// closed form is exact where they are.
Trust trust_by(EstimateMethod method, Trust basis);

/// The time of one call without simulating contention. `floor` is that of the same call; `warps`
/// as in Execution.
Estimate estimate(const Plan& plan, const Placement& placement, const DataPartition& partition,
                  const Wiring& wiring, const Calibration& cost, Protocol protocol,
                  const ModelFloor& floor, std::uint32_t warps = 0);

/// The critical path of the call, each flow at the rate it would have alone. Of long calls whose
/// steps repeat themselves (SteadyState) the records are of some of it, the times of all.
CriticalPath uncontended_critical_path(const Plan& plan, const DataPartition& partition,
                                       const Wiring& wiring, const Calibration& cost,
                                       Protocol protocol, std::uint32_t warps = 0);

}  // namespace collsim
