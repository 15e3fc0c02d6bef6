#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/analytic/bounds.h"
#include "models/analytic/estimate.h"
#include "models/analytic/model_floor.h"
#include "models/faults/machine_faults.h"
#include "models/machine/plan_wiring.h"
#include "models/nccl/choice.h"
#include "models/prediction/rank_gpus.h"
#include "models/scenario/scenario.h"
#include "sim/algorithms/registry.h"
#include "sim/cost/calibration.h"
#include "sim/cost/trust.h"
#include "sim/execution/executor.h"
#include "sim/execution/wiring.h"
#include "sim/fabric/engine.h"
#include "sim/plan/plan.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// How long one call takes, and how far that is from what is possible.
struct Prediction {
  Bytes size;
  Seconds time;             ///< until the last rank is done
  Seconds mean_over_ranks;  ///< of their own ends, as benchmarks print it; 0 for an estimate
  std::string algorithm;
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;            ///< that carried data
  std::optional<Seconds> nccl_estimate;  ///< what NCCL itself expects, where it tunes the call
  std::optional<double> wire_factor;     ///< of NCCL's algorithm (wire_factor()), under its rules
  Bounds bounds;                         ///< of the machine
  ModelFloor floor;                      ///< of the model
  Trust trust = Trust::exact;
  std::optional<EstimateMethod> method;  ///< of an estimate; none: simulated
  std::optional<FormTerms> form;         ///< of an estimate by a closed form, where it has one
  std::uint64_t transfers = 0;           ///< messages simulated; 0 for an estimate
};

/// One way of running a collective on one machine, laid out once and asked at many sizes.
///
/// Every answer is checked against its bounds and the model's floor: one that is below (by more
/// than rounding) is a bug of ours and throws std::logic_error instead of being returned. Keeps the
/// plans that it has laid out; not for use by several threads at once.
class Predictor {
 public:
  /// Uses the first `ranks` GPUs, counting only the first `ranks_per_node` of every node if given;
  /// `root` counts only where the collective has one. What the run leaves open is settled().
  /// Throws InputError where the machine has fewer GPUs, or the algorithm does not run on that
  /// placement.
  ///
  /// Under NCCL's rules send_recv, all_to_all, gather and scatter are groups of sends and receives;
  /// a barrier is an all_reduce of one element, which is how frameworks make one of NCCL; and a
  /// single rank sends nothing.
  ///
  /// Hosts that talk TCP (NCCL_NET=Socket, NCCL_IB_DISABLE=1, NICs without RDMA) cost what
  /// over_tcp() says.
  ///
  /// With `faults` answers are of the faulty machine, and simulate() throws HangError where a call
  /// never ends. Plans, and what NCCL chooses, are still made for the healthy one: communicators
  /// are older than faults.
  Predictor(const Topology& topology, const Calibration& cost, Collective collective,
            const RunSpec& run, Rank ranks, Rank root = 0,
            std::optional<std::uint32_t> ranks_per_node = std::nullopt, MachineFaults faults = {});
  /// The same on these GPUs: rank i sits on `gpus[i]`. Under NCCL's rules, which know a node's GPUs
  /// by their places alone, every node must have the same places among them.
  Predictor(const Topology& topology, const Calibration& cost, Collective collective,
            const RunSpec& run, std::vector<DeviceId> gpus, Rank root = 0,
            MachineFaults faults = {});

  /// By simulation. `engine` is native or simgrid.
  Prediction simulate(Bytes size, Engine engine) const;
  /// The `mean_over_ranks` of simulate() alone, on the native engine, not compared with bounds: for
  /// fitting.
  Seconds time(Bytes size) const;
  /// Answers that follow are with these costs. Whether there are proxies must stay as it was.
  void set_cost(const Calibration& cost);
  /// The same had NCCL chosen that pair. Throws InputError where NCCL has no such plan, or does not
  /// run the call under its rules.
  Prediction simulate(Bytes size, Engine engine, const Candidate& candidate) const;
  /// By the analytic model.
  Prediction estimate(Bytes size) const;
  /// Where the time goes if no link were shared.
  CriticalPath critical_path(Bytes size) const;

  Rank ranks() const { return placement_.ranks(); }
  const Topology& topology() const { return *topology_; }
  const Calibration& cost() const { return cost_; }
  /// Rank i sits on the i-th.
  const std::vector<DeviceId>& gpus() const { return gpus_; }
  /// The run as settled.
  const RunSpec& run() const { return run_; }
  /// What NCCL made of the machine; null for a textbook schedule and for a single rank.
  const Nccl* nccl() const { return nccl_ ? &*nccl_ : nullptr; }
  /// The function of NCCL's that it tunes for this collective; none for sends and receives.
  std::optional<NcclFunction> nccl_function() const;
  /// What a person should know about the answers, one sentence each: variables that change
  /// nothing.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// A plan on the machine.
  struct Layout {
    Plan plan;
    Wiring wiring;
    Disturbance disturbance{};
    bool reroutes = false;  ///< as in FaultyLayout
  };
  /// One call, settled.
  struct Call {
    const Layout* layout;
    Binding binding;
    Protocol protocol = Protocol::simple;
    std::uint32_t warps = 0;
    std::string algorithm;
    std::optional<Seconds> nccl_estimate{};
    std::optional<NcclAlgorithm> nccl_algorithm{};
    /// In place of the layout's where capacities depend on the call: what host memory carries.
    std::shared_ptr<const Wiring> own_wiring{};

    const Wiring& wiring() const { return own_wiring ? *own_wiring : layout->wiring; }
  };
  /// What runs for a size; refers to this predictor.
  Call call(Bytes size) const;
  /// The same had NCCL chosen that pair, as in simulate().
  Call call(Bytes size, const Candidate& candidate) const;
  Bounds bounds_of(const Call& call) const;
  ModelFloor floor_of(const Call& call) const;
  /// The call as execute() takes it; refers to both.
  Execution execution(const Call& call) const;

 private:
  Layout lay(Plan plan, const HopRules& rules) const;
  ModelFloor floor_on(const Call& call, const Wiring& wiring) const;
  void settle_pipeline();
  void order_gpus();
  void prepare_textbook();
  void prepare_nccl(const Calibration& cost);
  /// Prices TCP where hosts have nothing else.
  void talk_tcp(const Calibration& cost);
  Candidate choose(Bytes size) const;
  Call textbook_call(Bytes size) const;
  Call nccl_call(Bytes size, const Candidate& chosen) const;
  Call message_call(Bytes size) const;
  /// The call, with the capacities that host memory has for it.
  Call with_host_memory(Call call) const;
  /// How NCCL's hops go; `nets` may be null.
  HopRules hop_rules(const ChannelNets* nets) const;
  const Layout& nccl_layout(NcclAlgorithm algorithm, std::uint32_t channels) const;
  const Layout& message_layout(std::uint32_t parts) const;
  Prediction simulate(const Call& call, Bytes size, Engine engine) const;
  Prediction answer(const Call& call, Bytes size, Seconds time, const ModelFloor& floor) const;

  const Topology* topology_;
  Collective collective_;
  RunSpec run_;
  Calibration cost_;  // of this run
  Rank root_;
  std::vector<DeviceId> gpus_;
  Placement placement_;
  std::uint32_t calls_;
  MachineFaults faults_;
  std::optional<MachineBounds> bounds_;  ///< always there once constructed
  std::unique_ptr<Layout> textbook_;
  std::optional<Nccl> nccl_;
  bool talks_tcp_ = false;  ///< though `cost` is of another network
  mutable std::map<std::pair<NcclAlgorithm, std::uint32_t>, Layout> nccl_layouts_;
  mutable std::map<std::uint32_t, Layout> message_layouts_;  // by parts
  std::vector<std::string> warnings_;
};

/// The size of nccl-tests' default type, float.
inline constexpr Bytes float_size{4};

}  // namespace collsim
