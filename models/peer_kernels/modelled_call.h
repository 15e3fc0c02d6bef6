#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/estimate/estimator.h"
#include "models/simulate/simulator.h"

namespace collsim {

/// One call of a machine with all that answers for it. It refers to itself, so that it stays where
/// it is.
class ModelledCall {
 public:
  ModelledCall(CallSpec spec, bool simulated)
      : compiler_(std::move(spec)),
        estimator_(compiler_),
        simulator_(compiler_),
        simulated_(simulated) {}
  ModelledCall(const ModelledCall&) = delete;
  ModelledCall& operator=(const ModelledCall&) = delete;

  const CallCompiler& compiler() const { return compiler_; }
  Prediction of(Bytes size) {
    return simulated_ ? simulator_.simulate(size) : estimator_.estimate(size);
  }

 private:
  CallCompiler compiler_;
  Estimator estimator_;
  Simulator simulator_;
  bool simulated_;
};

/// The share of a plan's time on links alone that its kernel takes. A kernel goes through its
/// buffer piece by piece, so that a port sends and receives at the same time, while the plan of one
/// loop does one after the other: with multimem_two_shot S + S/N each, with multimem_one_shot N S
/// and S.
inline double overlapped_share(std::string_view algorithm, Rank ranks) {
  if (algorithm == "multimem_two_shot") return 0.5;
  if (algorithm == "multimem_one_shot") return static_cast<double>(ranks) / (ranks + 1.0);
  return 1;
}

/// The textbook's plan of that algorithm for the same call, where links alone cost anything.
inline CallSpec on_links_alone(CallSpec spec, const std::string& algorithm) {
  RunSpec run;
  run.schedule = ScheduleKind::textbook;
  run.algorithm = algorithm;
  run.reduction = spec.run.reduction;
  spec.run = std::move(run);
  spec.cost = {};
  return spec;
}

}  // namespace collsim
