#pragma once

#include <memory>
#include <optional>

#include "models/prediction/estimator.h"
#include "models/prediction/planner.h"
#include "models/prediction/prediction.h"

namespace collsim {

/// The most ranks of a cluster that are always simulated as they are.
inline constexpr Rank max_simulated_ranks = 256;

/// Simulates as many sizes as one likes of one planner. Sizes share layouts.
///
/// A larger cluster under NCCL's rules is represented by a small_cluster(), which runs what NCCL
/// chooses for the whole: with as many bytes on every hop, where each rank has a part of the
/// buffer, else with as many bytes in all. The time is scaled by the analytic model:
///
///   T = simulated(small) estimated(whole) / estimated(small)
///
/// Faults are where they were, and the model knows them. Not so where no small cluster is like the
/// whole, nor with SimulationOptions::exact.
class Simulator {
 public:
  /// The planner must outlive it.
  explicit Simulator(const Planner& planner, SimulationOptions options = {});

  /// Throws InputError where the call needs more memory than there is (require_memory()), HangError
  /// where a fault keeps it from ever ending.
  Prediction simulate(Bytes size);

 private:
  Prediction scaled(Bytes size);

  const Planner& planner_;
  SimulationOptions options_;
  LayoutMemo memo_;
  LayoutMemo small_memo_;
  std::optional<Estimator> estimator_;        // of the whole cluster, if that is scaled
  std::unique_ptr<const Planner> small_;      // likewise
  std::optional<Estimator> small_estimator_;  // likewise
};

}  // namespace collsim
