#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/bounds/bounds.h"
#include "models/call/call_spec.h"
#include "models/machine/plan_wiring.h"
#include "models/nccl/choice.h"
#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/machine_events.h"
#include "sim/execution/symmetry.h"
#include "sim/execution/wiring.h"
#include "sim/nccl/nccl_algorithm.h"
#include "sim/plan/plan.h"

namespace collsim {

class CallCompiler;

/// A plan laid on the machine.
struct Layout {
  Plan plan;
  Wiring wiring;
  MachineEvents events{};
  bool reroutes = false;  ///< wires change while the call runs, so loads are not known before
};

/// The layouts that one compiler has made under NCCL's rules, for a caller who asks for many sizes:
/// sizes share layouts, and a layout of many ranks takes long. Not for several threads at once.
struct LayoutCache {
  /// The key of a layout: algorithm and channels; without an algorithm the parts of a message.
  using Key = std::pair<std::optional<NcclAlgorithm>, std::uint32_t>;
  std::map<Key, std::shared_ptr<const Layout>> layouts;
};

/// What NCCL runs for one size: decided, not laid out.
struct NcclDecision {
  NcclCall call;                         ///< how the call is cut
  std::uint32_t channels = 0;            ///< channels that the call may use
  std::uint32_t parts = 0;               ///< parts of a message; 0 where there are none
  std::uint32_t warps = 0;               ///< warps of a thread block
  std::optional<Candidate> candidate{};  ///< where NCCL tunes the call
};

/// What runs for one size: decided, laid out and cut.
struct CompiledCall {
  const CallCompiler* compiler = nullptr;  ///< that made it; it must outlive the plan
  Bytes size;                              ///< the size that was asked
  std::shared_ptr<const Layout> layout;
  DataPartition partition;
  Protocol protocol = Protocol::simple;
  std::uint32_t warps = 0;                 ///< warps of a thread block
  std::string algorithm;                   ///< as reports name it
  std::optional<Candidate> nccl_choice{};  ///< where NCCL tunes the call
  /// The wiring where capacities depend on the call: what host memory carries.
  std::shared_ptr<const Wiring> own_wiring{};
  /// The symmetry of execution_of() it, once it is found. Not for several threads at once.
  std::shared_ptr<FoundSymmetry> found = std::make_shared<FoundSymmetry>();

  const Plan& plan() const { return layout->plan; }
  /// The compiler's calibration as it counts for the plan.
  const Calibration& cost() const;
  const Wiring& wiring() const { return own_wiring ? *own_wiring : layout->wiring; }
};

/// Decides what runs for a call: the algorithm, the protocol and the channels, as NCCL or a
/// textbook has them. Nothing in it changes once it is made, so that threads may share it.
///
/// Under NCCL's rules send_recv, all_to_all, gather and scatter are groups of sends and receives;
/// a barrier is an all_reduce of one element, which is how frameworks make one of NCCL; and a
/// single rank sends nothing. Hosts that talk TCP (NCCL_NET=Socket, NCCL_IB_DISABLE=1, NICs without
/// RDMA) cost what over_tcp() says.
class CallCompiler {
 public:
  /// What the spec leaves open it decides. Throws InputError where the algorithm does not run on
  /// these GPUs, or NCCL does not. The bounds of a call of the same ranks need not be found again;
  /// null: no such call is known.
  explicit CallCompiler(CallSpec spec, const CallCompiler* same_ranks = nullptr);

  /// The same call with other faults of its machine, whose ranks are those of spec(). What NCCL has
  /// decided stays, since communicators are older than faults, so that it is not searched for anew.
  CallCompiler with_faults(MachineFaults faults) const;

  /// What runs for a size.
  CompiledCall plan(Bytes size, LayoutCache* cache = nullptr) const;
  /// What runs for a size had NCCL chosen that pair. Throws InputError where NCCL has no such plan,
  /// or does not run the call under its rules.
  CompiledCall plan(Bytes size, const Candidate& candidate, LayoutCache* cache = nullptr) const;

  /// The sends and receives of an exchange that `sends` names, as if each of it had its share of
  /// that size. Only where nccl() and no nccl_function().
  CompiledCall plan_messages(Bytes size,
                             const std::function<bool(Rank from, Rank to)>& sends) const;

  /// What NCCL runs for a size. Only where nccl().
  NcclDecision decide(Bytes size) const;
  NcclDecision decide(Bytes size, const Candidate& candidate) const;
  /// How hops go under NCCL's rules; without an algorithm those of sends and receives. They refer
  /// to the compiler.
  HopRules hop_rules(std::optional<NcclAlgorithm> algorithm) const;

  /// A textbook's cut for a size, whose layout need not be there.
  DataPartition textbook_binding(Bytes size) const;
  /// The number of chunks into which a loop of a textbook's algorithm is cut.
  std::uint32_t textbook_chunks() const { return textbook_chunks_; }
  /// Which rank has each place of a textbook's algorithm: on channel c the order c modulo their
  /// number.
  std::vector<std::vector<Rank>> textbook_orders() const;

  /// The spec as settled: under NCCL's rules ranks are renamed so that they are grouped by node.
  const CallSpec& spec() const { return spec_; }
  const Topology& topology() const { return *spec_.topology; }
  /// The calibration as it counts for this call: of messages, in a CUDA graph, over TCP.
  const Calibration& cost() const { return spec_.cost; }
  /// The calibration for an algorithm, of what NVSwitches do or do not add up.
  const Calibration& cost_of(std::optional<NcclAlgorithm> algorithm) const {
    return algorithm && adds_in_nvswitches(*algorithm) ? nvls_cost_ : cost();
  }
  const Calibration& cost_of(const Plan& plan) const {
    return adds_in_nvswitches(plan) ? nvls_cost_ : cost();
  }
  /// What another calibration comes to for this call, NVSwitches that add up aside.
  Calibration cost_of(const Calibration& cost) const;
  const Placement& placement() const { return placement_; }
  Rank ranks() const { return placement_.ranks(); }
  /// The hosts that ranks are on.
  std::uint32_t hosts() const { return hosts_; }
  bool is_nccl() const { return spec_.run.schedule == ScheduleKind::nccl; }
  /// How many calls in a row the time is the mean of.
  std::uint32_t calls() const;
  /// The bounds of the healthy machine.
  Bounds bounds(Bytes size) const;
  /// What NCCL made of the machine; null for a textbook schedule and for a single rank.
  const Nccl* nccl() const { return nccl_ ? &*nccl_ : nullptr; }
  /// The function of NCCL's that it tunes for this collective; none for sends and receives.
  std::optional<NcclFunction> nccl_function() const { return function_of(spec_.collective); }
  /// What a person should know about the answers, one sentence each: variables that change
  /// nothing.
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  bool is_bounded_as(const CallCompiler& other) const;
  void group_by_node();
  void start_nccl();
  void talk_tcp(const Calibration& cost);
  void set_cost(Calibration cost);
  void take_host_transport(const Calibration& cost);
  void settle_textbook();
  Bytes evenly_moved(Bytes size) const;
  Layout textbook_layout() const;
  ChannelOrder textbook_order() const;
  Layout lay(Plan plan, const HopRules& rules) const;
  std::shared_ptr<const Layout> nccl_layout(const LayoutCache::Key& key, LayoutCache* cache) const;
  CompiledCall textbook_plan(Bytes size) const;
  NcclDecision decide_messages(Bytes size) const;
  CompiledCall nccl_plan(Bytes size, const NcclDecision& decision, LayoutCache* cache) const;
  NcclCall nccl_call(Bytes size, Protocol protocol) const;
  /// The plan, with the capacities that host memory has for it.
  CompiledCall with_host_memory(CompiledCall plan) const;

  CallSpec spec_;
  Calibration nvls_cost_;  // Calibration::of_nvls() of the spec's
  Placement placement_;
  std::uint32_t hosts_ = 1;
  std::shared_ptr<const MachineBounds> bounds_;
  /// Laid out when it is first asked for: an estimate needs none.
  struct LaidOnce {
    std::once_flag flag;
    std::shared_ptr<const Layout> layout;
  };
  std::shared_ptr<LaidOnce> textbook_ = std::make_shared<LaidOnce>();
  std::optional<Nccl> nccl_;
  bool talks_tcp_ = false;                     // though the calibration is of another network
  std::optional<Calibration> host_transport_;  // of GPUs that no NVLink joins
  std::uint32_t textbook_chunks_ = 1;
  std::vector<std::string> warnings_;
};

}  // namespace collsim
