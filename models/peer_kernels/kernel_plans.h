#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "models/predict/predictor.h"

namespace collsim {

/// The share of a plan's time on links alone that its kernel takes. A kernel goes through its
/// buffer piece by piece, so that a port sends and receives at the same time, while the plan of one
/// loop does one after the other: with multimem_two_shot S + S/N each, with multimem_one_shot N S
/// and S.
inline double overlapped_share(std::string_view algorithm, Rank ranks) {
  if (algorithm == "multimem_two_shot") return 0.5;
  if (algorithm == "multimem_one_shot") return static_cast<double>(ranks) / (ranks + 1.0);
  return 1;
}

/// What predicts a call of NCCL's, and the textbook's plans that do the same.
class KernelPlans {
 public:
  /// `spec` is the call under NCCL's rules.
  KernelPlans(CallSpec spec, Method method) : spec_(std::move(spec)), method_(std::move(method)) {}

  const CallSpec& spec() const { return spec_; }
  Predictor& nccl() {
    return of("nccl", [this] { return spec_; });
  }
  /// Predicts the same call by that textbook algorithm, on a machine whose links alone cost time.
  Predictor& on_links_alone(const std::string& algorithm) {
    return of(algorithm, [&] {
      CallSpec spec = spec_;
      spec.run = {};
      spec.run.schedule = ScheduleKind::textbook;
      spec.run.algorithm = algorithm;
      spec.run.reduction = spec_.run.reduction;
      spec.cost = {};
      return spec;
    });
  }

 private:
  template <typename MakeSpec>
  Predictor& of(const std::string& name, const MakeSpec& make_spec) {
    const auto found = predictors_.find(name);
    if (found != predictors_.end()) return found->second;
    return predictors_.try_emplace(name, make_spec(), method_).first->second;
  }

  CallSpec spec_;
  Method method_;
  std::map<std::string, Predictor> predictors_;
};

}  // namespace collsim
