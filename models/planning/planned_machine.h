#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "models/call/call_compiler.h"
#include "models/estimate/estimator.h"
#include "models/imports/machine_parts.h"
#include "models/planning/limit.h"
#include "models/planning/workload.h"
#include "models/simulate/simulator.h"

namespace collsim {

/// What is asked of every machine of a plan.
struct PlannedCall {
  Collective collective = Collective::all_reduce;
  RunSpec run{};
};

/// What a planned time rests on, the least first.
enum class TimeBasis : std::uint8_t {
  formulas,  ///< alone
  part,      ///< a simulation of a part: four nodes or so, or a smaller call; formulas scale it
  run,       ///< as `collsim run` simulates
};
/// "est", "part", "run".
std::string_view to_string(TimeBasis basis);

/// The time of all calls of a workload in a row, and what the largest of them is.
struct WorkloadTime {
  Seconds time;
  Prediction largest{};
  TimeBasis basis = TimeBasis::run;  ///< the least of the calls
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
  const CallCompiler& compiler() const { return *compiler_; }
  /// Those that the job has.
  std::uint32_t nodes() const { return nodes_; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(compiler_->spec().gpus.size()); }
  /// The model of its first GPU, as price files name it; empty for one that is not known.
  std::string_view gpu_model() const;
  /// What is paid for: the job's nodes as a cluster of their own, which topology() is but where a
  /// list names some of a larger one.
  const Topology& paid() const { return paid_ ? *paid_ : *topology_; }

  /// By formulas.
  WorkloadTime estimate(std::span<const CallGroup> calls);
  /// Each call as `collsim run` simulates it, where that takes at most so many messages. Else what
  /// is simulated is a part of it, whose time is scaled by formulas: first 32 of the ranks, then a
  /// call of a quarter of the size, and so on. By formulas where no part of 16 MiB takes as few.
  /// Nothing else decides which of these it is, so that a call takes the same time in all plans.
  WorkloadTime simulate(std::span<const CallGroup> calls, double messages);
  /// What keeps a call that takes so long from being faster. A cluster of more than 256 ranks is
  /// looked at by its small_cluster(), whose ports carry as much.
  LimitUse limit(Bytes size, Seconds time);
  /// Whether NICs of different leaves talk to each other where every NIC talks to the NICs of its
  /// place in other nodes, as NCCL's do.
  bool spans_leaves() const;

 private:
  Estimator& estimator();
  std::optional<Prediction> simulated(Bytes size, double messages, const SimulationBudget& budget);
  std::optional<Prediction> simulated_in_part(Bytes size, double messages);
  Prediction predict(Bytes size, double messages, TimeBasis& basis);

  std::unique_ptr<const Topology> topology_;
  std::unique_ptr<const Topology> paid_;
  std::uint32_t nodes_;
  std::unique_ptr<const CallCompiler> compiler_;
  std::optional<Estimator> estimator_;
  std::unique_ptr<const CallCompiler> small_;
  LayoutMemo memo_;
};

}  // namespace collsim
