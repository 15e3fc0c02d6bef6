#pragma once

#include <map>
#include <memory>
#include <optional>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/estimate/estimator.h"

namespace collsim {

/// What a simulation may take. Whatever needs more is represented by a smaller cluster.
struct SimulationBudget {
  Rank max_ranks = 512;
  double max_seconds = 2;  ///< of one core, as far as is known before (likely_seconds())
};

/// A call that stands for the one that was asked for: that itself, or one of a small cluster.
struct RepresentativeCall {
  const CallCompiler& compiler;  ///< its own
  CompiledCall call;
};

class KnownCalls;

/// Simulates as many sizes as one likes of one compiler. Sizes share layouts.
///
/// What is within the budget is simulated whole. Else a small_cluster() represents it (of textbooks
/// only is_scalable_textbook()): of max_ranks, or of half, a quarter, ... of them, the largest that
/// is within the budget, but no fewer than 32. It runs what runs on the whole: with as many bytes
/// on every hop, where each rank has a part of the buffer, else with as many bytes in all. Its time
/// grows as the analytic model says:
///
///   T = S + E(whole) - E
///
/// with S simulated and E estimated on the small cluster. A textbook's call grows by as much for
/// each further rank as it does from half of the small cluster to all of it. Faults are where they
/// were, and the model knows them. Every rank is simulated where no small cluster is like the
/// whole, and with SimulationOptions::exact.
///
/// What is wrong with a machine never makes its calls faster (SimulationOptions::beside_healthy):
/// a simulation of one order of events differs from that of another by some 1e-5, and one that is
/// continued from one that is not by up to 4e-3 (SteadyState).
class Simulator {
 public:
  /// The compiler must outlive it, and so must `known`, which remembers calls; null: nothing does.
  explicit Simulator(const CallCompiler& compiler, SimulationOptions options = {},
                     SimulationBudget budget = {}, KnownCalls* known = nullptr);

  /// Throws InputError where the call needs more memory than there is (require_memory()), HangError
  /// where a fault keeps it from ever ending.
  Prediction simulate(Bytes size);
  /// The same had NCCL chosen that pair.
  Prediction simulate(Bytes size, const Candidate& candidate);
  /// Whether a small cluster stands for the whole.
  bool scales(Bytes size) { return is_scaled(size, {}); }
  /// The call of the largest cluster that sends at most so many messages for it when each is
  /// simulated, or of the smallest that may stand for the whole. The Simulator must outlive it.
  RepresentativeCall representative(Bytes size, double max_messages);

 private:
  /// The same call on the machine without its faults.
  struct Healthy;
  /// A cluster that may stand for the whole.
  struct Small;
  /// A call of one.
  struct SmallCall;
  /// `given`: as if NCCL had chosen it.
  using Given = std::optional<Candidate>;
  Prediction beside_healthy(Bytes size, const Given& given);
  bool is_clearly_slower(const Prediction& prediction, Bytes size, const Given& given);
  Prediction on_machine(Bytes size, const Given& given);
  CompiledCall plan(Bytes size, const Given& given);
  bool may_be_scaled() const;
  bool is_scaled(Bytes size, const Given& given);
  bool is_within_budget(Bytes size, const Given& given);
  bool is_textbook_within_budget(Bytes size, const Given& given);
  Small* small_of(Rank ranks);
  template <typename Fits>
  SmallCall representing(Bytes size, const Given& given, const Fits& fits);
  SmallCall call_on(Small& small, Bytes size, const Given& given);
  bool is_small_within_budget(const SmallCall& small);
  std::optional<CompiledCall> evened(const CompiledCall& call);
  Prediction simulate_evened(const CompiledCall& call, const CompiledCall& even);
  Prediction scaled(Bytes size, const Given& given);
  Prediction run(const CompiledCall& call, const SimulationOptions& options) const;
  Seconds time_of_more_ranks(const SmallCall& small, Seconds simulated, Bytes size);
  Estimator& estimator();
  Healthy& healthy();

  const CallCompiler& compiler_;
  SimulationOptions options_;
  SimulationBudget budget_;
  KnownCalls* known_;
  LayoutMemo memo_;
  bool may_scale_ = true;                          // until a small cluster hangs
  std::optional<Estimator> estimator_;             // of the whole, made where it is asked for
  std::map<Rank, std::shared_ptr<Small>> smalls_;  // by ranks asked for; null: there is none
  std::shared_ptr<Healthy> healthy_;  // made where there are faults and it is asked for
};

}  // namespace collsim
