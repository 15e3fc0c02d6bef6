#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "models/call/call_compiler.h"
#include "models/imports/machine_parts.h"
#include "models/predict/predictor.h"
#include "tools/collsim/plan/workload.h"

namespace collsim {

/// What keeps a call from being faster.
enum class Limit : std::uint8_t {
  latency,  ///< no resource is busy for half of the time: steps and their latency
  nvlink,
  pcie,
  cpu_link,  ///< between the sockets of a node
  host_memory,
  nic,           ///< the cables between nodes and switches
  uplink,        ///< cables between switches
  thread_block,  ///< what a GPU's thread blocks move
};
/// The word of a limit: "latency", "NVLink", "PCIe", "CPU link", "memory", "NIC", "uplink" or "SM".
std::string_view to_string(Limit limit);

/// The busiest resource of a call.
struct LimitUse {
  Limit limit = Limit::latency;
  double utilisation = 0;  ///< of the busiest resource, also where latency is the limit
  double uplink = 0;       ///< of the busiest cable between switches; 0: no byte crosses one
};

/// The limit of a call that takes `time`.
LimitUse limit_of(const CompiledCall& call, Seconds time);

/// What is asked of every machine of a plan.
struct PlannedCall {
  Collective collective = Collective::all_reduce;
  RunSpec run{};
};

/// What a planned time rests on, the least first.
enum class TimeBasis : std::uint8_t {
  formulas,  ///< alone
  part,      ///< a simulation of a smaller call (Extent::part)
  run,       ///< as `collsim run` simulates
};
/// The word of a basis: "est", "part" or "run".
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
  const CallCompiler& compiler() const { return predictor_->compiler(); }
  /// The number of nodes that the job has.
  std::uint32_t nodes() const { return nodes_; }
  std::uint32_t gpus() const { return static_cast<std::uint32_t>(compiler().spec().gpus.size()); }
  /// The model of its first GPU, as price files name it; empty for one that is not known.
  std::string_view gpu_model() const;
  /// What is paid for: the job's nodes as a cluster of their own, which topology() is but where a
  /// list names some of a larger one.
  const Topology& paid() const { return paid_ ? *paid_ : *topology_; }

  /// Predicts calls by `method`. Nothing else decides how, so that a call takes the same time in
  /// all plans.
  WorkloadTime predict(std::span<const CallGroup> calls, const Method& method);
  /// What keeps a call that takes so long from being faster. A cluster of more than 256 ranks is
  /// looked at by its small_cluster(), whose ports carry as much.
  LimitUse limit(Bytes size, Seconds time);
  /// Whether NICs of different leaves talk to each other where every NIC talks to the NICs of its
  /// place in other nodes, as NCCL's do.
  bool spans_leaves() const;

 private:
  std::unique_ptr<const Topology> topology_;
  std::unique_ptr<const Topology> paid_;
  std::uint32_t nodes_;
  std::unique_ptr<Predictor> predictor_;
  std::unique_ptr<const CallCompiler> small_;
  LayoutCache cache_;
};

}  // namespace collsim
