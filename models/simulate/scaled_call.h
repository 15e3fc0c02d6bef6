#pragma once

#include <map>
#include <memory>
#include <optional>

#include "models/simulate/evened_ring.h"

namespace collsim {

/// A call that stands for the one that was asked for: that itself, one of a small cluster, or of
/// fewer bytes.
struct RepresentativeCall {
  const CallCompiler& compiler;  ///< its own
  CompiledCall call;
  double part = 1;  ///< of the bytes that were asked for
};

/// A call beyond the budget, extrapolated from a small_cluster() (of textbooks only where
/// is_scalable_textbook()): of max_ranks, or of half, a quarter, ... of them, the largest that is
/// within the budget, but no fewer than 32. It runs what runs on the whole: with as many bytes on
/// every hop, where each rank has a part of the buffer, else with as many bytes in all. Its time
/// grows as the analytic model says:
///
///   T = S + E(whole) - E
///
/// with S simulated and E estimated on the small cluster. A textbook's call grows by as much for
/// each further rank as it does from half of the small cluster to all of it. Faults are where they
/// were, and the model knows them. It does not apply where no small cluster is like the whole.
class ScaledCall : public Shortcut {
 public:
  using Shortcut::Shortcut;

  /// Whether a small cluster stands for the whole. Known before anything is simulated;
  /// Prediction::extent says it afterwards.
  bool applies(AskedCall& call);
  std::optional<Prediction> predict(AskedCall& call) override;
  /// The call of the largest cluster whose every message is simulated in `max_seconds`, or of the
  /// smallest that may stand for the whole. The model must outlive it.
  RepresentativeCall representative(AskedCall& call, double max_seconds);

 private:
  /// A call of a small cluster.
  struct SmallCall {
    CallModel& cluster;
    std::optional<Candidate> choice;  // NCCL's for the whole
    CompiledCall call;
  };
  bool may_scale() const;
  bool is_within_budget(AskedCall& call);
  bool is_textbook_within_budget(AskedCall& call);
  bool is_small_within_budget(const SmallCall& small) const;
  CallModel* small_of(Rank ranks);
  template <typename Fits>
  SmallCall representing(const AskedCall& asked, double max_seconds, const Fits& fits);
  SmallCall call_on(CallModel& small, const AskedCall& asked) const;
  Prediction scaled(const AskedCall& asked);
  Seconds time_of_more_ranks(const SmallCall& small, Seconds simulated, const AskedCall& asked);

  EvenedRing evened_{model()};
  bool may_scale_ = true;                              // until a small cluster hangs
  std::map<Rank, std::shared_ptr<CallModel>> smalls_;  // by ranks asked for; null: there is none
};

}  // namespace collsim
