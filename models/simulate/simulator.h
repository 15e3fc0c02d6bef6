#pragma once

#include <memory>
#include <optional>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/estimate/estimator.h"

namespace collsim {

/// The most ranks of a cluster that are simulated as they are, however long it takes.
inline constexpr Rank max_simulated_ranks = 256;

/// How a large cluster is represented.
struct Representation {
  /// Clusters of more ranks are represented; of fewer, those of more than `ranks` whose simulation
  /// would take long.
  Rank max = max_simulated_ranks;
  Rank ranks = 64;  ///< by so many of theirs: whole nodes, at least two
};

/// A call that stands for the one that was asked for: that itself, or one of a small cluster.
struct RepresentativeCall {
  const CallCompiler& compiler;  ///< its own
  CompiledCall call;
};

class KnownCalls;

/// Simulates as many sizes as one likes of one compiler. Sizes share layouts.
///
/// A larger cluster (of is_scalable_textbook() a long call) is represented by a small_cluster(), of
/// what runs on the whole: with as many bytes on every hop, where each rank has a part of the
/// buffer, else with as many bytes in all. So is one of more ranks than the small cluster has where
/// the call would send so many messages, equals counted once, that it takes seconds (effort_of(),
/// folded_share(): known before anything is simulated); and where the small cluster's call would
/// take as long, a cluster of half its ranks stands for it. Its time grows as the analytic model
/// says, but as much more or less steeply as it does between a cluster of half as many ranks and
/// the small one:
///
///   T = S + (S - S') (E(whole) - E) / (E - E')
///
/// with S, S' simulated and E, E' estimated on the small cluster and on half of it. Where the model
/// sees no growth between these, or less than half or more than twice of what is simulated, where
/// half of it would be a tree over fewer than four nodes, and where there are faults:
///
///   T = S E(whole) / E
///
/// Faults are where they were, and the model knows them. Where it says that they cost the whole
/// nothing, what they cost the small cluster comes on top of the time of the whole without them:
///
///   T = T(no faults) + simulated(small) - simulated(small, no faults)
///
/// Not so where no small cluster is like the whole,
/// nor with SimulationOptions::exact.
///
/// What is wrong with a machine never makes its calls faster (SimulationOptions::beside_healthy):
/// a simulation of one order of events differs from that of another by some 1e-5, and one that is
/// continued from one that is not by up to 4e-3 (SteadyState).
class Simulator {
 public:
  /// The compiler must outlive it, and so must `known`, which remembers calls; null: nothing does.
  explicit Simulator(const CallCompiler& compiler, SimulationOptions options = {},
                     Representation representation = {}, KnownCalls* known = nullptr);

  /// Throws InputError where the call needs more memory than there is (require_memory()), HangError
  /// where a fault keeps it from ever ending.
  Prediction simulate(Bytes size);
  /// The same had NCCL chosen that pair.
  Prediction simulate(Bytes size, const Candidate& candidate);
  /// Whether a small cluster stands for the whole.
  bool scales(Bytes size) { return is_scaled(size, {}); }
  /// The call that simulate() looks at, healthy or not. The Simulator must outlive it.
  RepresentativeCall representative(Bytes size);

 private:
  /// The same call on the machine without its faults.
  struct Healthy;
  /// The small cluster's call.
  struct Small;
  /// What a call takes by simulation and by formulas.
  struct TwiceTimed {
    Seconds simulated;
    Seconds estimated;
  };

  /// `given`: as if NCCL had chosen it.
  using Given = std::optional<Candidate>;
  Prediction beside_healthy(Bytes size, const Given& given);
  Prediction on_machine(Bytes size, const Given& given);
  CompiledCall plan(Bytes size, const Given& given);
  bool may_be_scaled() const;
  bool is_scaled(Bytes size, const Given& given);
  Simulator* smaller(const CompiledCall& small);
  bool find_small_cluster();
  std::optional<CompiledCall> evened(const CompiledCall& call);
  Prediction simulate_evened(const CompiledCall& call, const CompiledCall& even);
  Prediction scaled(Bytes size, const Given& given);
  Prediction run(const CompiledCall& call, const SimulationOptions& options) const;
  Small small_call(Bytes size, const Given& given) const;
  double growth(Bytes size, const Given& given, const TwiceTimed& small, Seconds estimated);
  std::optional<TwiceTimed> time_half(Bytes size, const Given& given);
  bool model_sees_faults(Bytes size, const Given& given);
  Prediction with_cost_on_top(Bytes size, const Given& given, const Prediction& faulty);
  Healthy& healthy();

  const CallCompiler& compiler_;
  SimulationOptions options_;
  Representation representation_;
  KnownCalls* known_;
  LayoutMemo memo_;
  LayoutMemo small_memo_;
  bool looked_for_small_ = false;
  std::optional<Estimator> estimator_;         // of the whole cluster, if that is scaled
  std::unique_ptr<const CallCompiler> small_;  // likewise
  std::optional<Estimator> small_estimator_;   // likewise
  std::unique_ptr<Simulator> smaller_;         // by fewer ranks, where it is asked for
  std::unique_ptr<Simulator> half_;            // by half as many ranks, likewise
  std::shared_ptr<Healthy> healthy_;           // made where there are faults and it is asked for
};

}  // namespace collsim
