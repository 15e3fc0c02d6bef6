#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/simulate/folded_exchange.h"
#include "models/simulate/method.h"
#include "models/simulate/scaled_call.h"

namespace collsim {

/// The door: predicts a call on a machine, at as many sizes as one likes, which share layouts,
/// formulas and what is known of the healthy machine. Whoever asks for a call's time asks here.
/// It owns the compiler of the call, and stays where it is. Not for several threads at once.
///
/// A simulation takes the first shortcut that applies: FoldedExchange, ScaledCall, EvenedRing; else
/// the call is simulated whole, to where it repeats itself (SteadyState).
///
/// What it answers is not below what no call can beat, as simulate() checks it: a bug of ours
/// throws std::logic_error, which nobody catches.
class Predictor {
 public:
  /// Throws InputError as CallCompiler does.
  explicit Predictor(CallSpec spec, Method method = {});
  explicit Predictor(CallCompiler compiler, Method method = {});
  ~Predictor() = default;
  Predictor(const Predictor&) = delete;
  Predictor& operator=(const Predictor&) = delete;
  Predictor(Predictor&&) = delete;
  Predictor& operator=(Predictor&&) = delete;

  /// Predicts this call by another method. What formulas find of hops is shared by all that are
  /// made of one by by() and with_faults(): each thread needs one of its own.
  Predictor by(Method method) const;
  /// Predicts this call with other faults of its machine, of which NCCL knows nothing.
  Predictor with_faults(MachineFaults faults) const;

  const CallCompiler& compiler() const { return model_.compiler(); }

  /// The time of the call, had NCCL chosen `given`; without it, of what NCCL does choose. Throws
  /// InputError where the call needs more memory than there is (require_memory()), HangError where
  /// a fault keeps it from ever ending.
  Prediction predict(Bytes size, const std::optional<Candidate>& given = {});
  /// Estimates by formulas, whatever the method.
  Prediction estimate(Bytes size, const std::optional<Candidate>& given = {});

  /// Whether a small cluster stands for the whole.
  bool scales(Bytes size);
  /// The call that stands for this one where every message is to be simulated in `max_seconds`: as
  /// ScaledCall has it, or where that takes longer, the same of a half, a quarter, ... of the
  /// bytes. The Predictor must outlive it.
  RepresentativeCall representative(Bytes size, double max_seconds);

 private:
  using Given = std::optional<Candidate>;
  using Pair = std::optional<std::pair<NcclAlgorithm, Protocol>>;

  Predictor(std::shared_ptr<const CallCompiler> compiler, Method method,
            std::shared_ptr<HopCache> hops, bool shares_hops);
  Prediction simulate(Bytes size, const Given& given);
  Prediction within_budget(Bytes size, const Given& given);
  Prediction in_part(Bytes size, const Given& given, double times);
  Prediction grown(const Prediction& smaller, Bytes size, const Given& choice);
  Predictor& healthy();
  const Prediction& on_healthy(Bytes size, const Given& given);

  std::shared_ptr<const CallCompiler> compiler_;
  std::shared_ptr<HopCache> hops_;  // of all that differ by faults alone
  bool shares_hops_;
  CallModel model_;
  FoldedExchange folded_{model_};
  ScaledCall scaled_{model_};
  EvenedRing evened_{model_};
  std::array<Shortcut*, 3> shortcuts_{&folded_, &scaled_, &evened_};  // in their order
  std::unique_ptr<Predictor> healthy_;                                // the same without faults
  std::map<std::pair<Bytes, Pair>, Prediction> healthy_predictions_;
};

}  // namespace collsim
