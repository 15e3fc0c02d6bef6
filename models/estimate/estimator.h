#pragma once

#include <memory>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/estimate/hop_cache.h"

namespace collsim {

/// Answers by formulas, for as many sizes as one likes of one compiler: what does not depend on the
/// size, the hops of each algorithm by class and what they share, is found once. Faults make hops
/// of other classes; while some come and go, each state of the machine moves its part of the call.
/// docs/formulas.md has the formulas. Not for several threads at once.
class Estimator {
 public:
  /// The compiler must outlive it, and so must `cache`, which keeps the hops for
  /// compilers that differ from this one by faults alone; null: nothing does.
  explicit Estimator(const CallCompiler& compiler, HopCache* cache = nullptr);
  ~Estimator();
  Estimator(Estimator&&) noexcept;
  Estimator& operator=(Estimator&&) noexcept;
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;

  /// Estimates what runs for a size.
  Prediction estimate(Bytes size);
  /// Estimates the time had NCCL chosen that pair.
  Prediction estimate(Bytes size, const Candidate& candidate);
  /// Whether the estimate lays NCCL's calls out: through host memory, unless a small cluster
  /// answers.
  bool needs_plan() const;

 private:
  class Forms;
  class States;
  std::unique_ptr<States> states_;
};

}  // namespace collsim
