#pragma once

#include <optional>
#include <span>

#include "models/closed_form.h"
#include "models/critical_path.h"
#include "models/model_floor.h"
#include "sim/algorithms/registry.h"
#include "sim/binding.h"
#include "sim/plan.h"
#include "sim/transfer_cost.h"
#include "sim/wiring.h"

namespace collsim {

/// How an estimate came about.
enum class EstimateMethod : std::uint8_t {
  /// The algorithm's closed form; exact, since all hops of a level are alike.
  closed_form,
  /// The plan's critical path as if no link were shared, its transfer time raised to what the
  /// busiest link needs. Exact without contention, else between the bound and the truth.
  critical_path,
};

struct Estimate {
  Seconds time;
  EstimateMethod method = EstimateMethod::closed_form;
  std::optional<FormTerms> form{};  ///< of a closed form, where it is so simple
};

/// The time of one call without simulating contention. `floor` is that of the same call; `warps`
/// as in Execution.
Estimate estimate(const Plan& plan, const Placement& placement, const Binding& binding,
                  const Wiring& wiring, const TransferCost& cost, Protocol protocol,
                  const ModelFloor& floor, std::uint32_t warps = 0);

/// The critical path of the call, each flow at the rate it would have alone.
CriticalPath uncontended_critical_path(const Plan& plan, const Binding& binding,
                                       const Wiring& wiring, const TransferCost& cost,
                                       Protocol protocol, std::uint32_t warps = 0);

}  // namespace collsim
