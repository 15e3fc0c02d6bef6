#pragma once

#include <memory>
#include <optional>
#include <span>

#include "models/planning/limit.h"
#include "models/planning/machine_parts.h"
#include "models/planning/workload.h"
#include "models/prediction/estimator.h"
#include "models/prediction/planner.h"
#include "models/prediction/simulator.h"

namespace collsim {

/// What is asked of every machine of a plan.
struct PlannedCall {
  Collective collective = Collective::all_reduce;
  RunSpec run{};
};

/// The time of all calls of a workload in a row, and what the largest of them is.
struct WorkloadTime {
  Seconds time;
  Prediction largest;
};

/// A machine of a plan at one count of nodes: composed, planned for, and asked for times. What
/// NCCL's search found for another count of the same machine is taken over.
class PlannedMachine {
 public:
  /// `like` is a machine of the same nodes and NICs, and must outlive this; null: there is none.
  /// Throws InputError where NCCL, or the algorithm, does not run there.
  PlannedMachine(const MachineParts& parts, std::uint32_t nodes, const PlannedCall& call,
                 const PlannedMachine* like);

  const Topology& topology() const { return *topology_; }
  const Planner& planner() const { return *planner_; }
  std::uint32_t nodes() const { return topology_->node_count(); }

  /// By formulas.
  WorkloadTime estimate(std::span<const CallGroup> calls);
  /// As `collsim run` does. Nothing where that takes more than so many messages.
  std::optional<WorkloadTime> simulate(std::span<const CallGroup> calls, double messages);
  /// What keeps a call that takes so long from being faster. A cluster of more than 256 ranks is
  /// looked at by its small_cluster(), whose ports carry as much.
  LimitUse limit(Bytes size, Seconds time);

 private:
  std::unique_ptr<const Topology> topology_;
  std::unique_ptr<const Planner> planner_;
  std::optional<Estimator> estimator_;
  std::unique_ptr<const Planner> small_;
  LayoutMemo memo_;
};

}  // namespace collsim
