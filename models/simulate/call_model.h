#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "models/call/call_compiler.h"
#include "models/call/prediction.h"
#include "models/estimate/estimator.h"
#include "models/simulate/method.h"

namespace collsim {

/// Thrown where a simulation would take longer than SimulationBudget::stop_seconds.
struct TooLong {
  double times = 1;  ///< so many times as long, as far as is known
};

/// One compiler's calls: laid out, estimated and simulated. Sizes share layouts and formulas. Not
/// for several threads at once.
class CallModel {
 public:
  /// `hops`, which must outlive it, are shared with compilers that differ by faults alone; null:
  /// they are not.
  CallModel(std::shared_ptr<const CallCompiler> compiler, Method method, HopCache* hops = nullptr)
      : compiler_(std::move(compiler)), method_(std::move(method)), hops_(hops) {}

  const CallCompiler& compiler() const { return *compiler_; }
  const Method& method() const { return method_; }
  const SimulationBudget& budget() const { return method_.budget; }
  LayoutCache& layouts() { return layouts_; }

  /// What runs, had NCCL chosen `given`; without it what NCCL does choose. Throws InputError where
  /// its layout needs more memory than there is (require_memory()).
  CompiledCall plan(Bytes size, const std::optional<Candidate>& given);
  /// The call's time by formulas.
  Prediction estimate(Bytes size, const std::optional<Candidate>& given);
  /// The call's time by simulation of all of it. `is_asked`: SimulationOptions::begin hears of it.
  /// Throws TooLong where the budget has an end, for calls that have an algorithm of NCCL's.
  Prediction run(const CompiledCall& call, bool is_asked = true) const;

 private:
  std::shared_ptr<const CallCompiler> compiler_;
  Method method_;
  HopCache* hops_;
  LayoutCache layouts_;
  std::optional<Estimator> estimator_;  // made where it is asked for
};

/// A call that is asked for. It is planned once, where that is needed.
class AskedCall {
 public:
  AskedCall(CallModel& model, Bytes size, const std::optional<Candidate>& given)
      : model_(model), size_(size), given_(given) {}

  const CallCompiler& compiler() const { return model_.compiler(); }
  Bytes size() const { return size_; }
  /// What NCCL is taken to have chosen; nothing: what it does choose.
  const std::optional<Candidate>& given() const { return given_; }
  const CompiledCall& plan() {
    if (!plan_) plan_ = model_.plan(size_, given_);
    return *plan_;
  }
  Prediction estimate() const { return model_.estimate(size_, given_); }

 private:
  CallModel& model_;
  Bytes size_;
  std::optional<Candidate> given_;
  std::optional<CompiledCall> plan_;
};

/// A way to simulate a call by less than all of it. A Predictor has a list of them: the first that
/// applies answers.
class Shortcut {
 public:
  /// The model must outlive it.
  explicit Shortcut(CallModel& model) : model_(model) {}
  virtual ~Shortcut() = default;
  Shortcut(const Shortcut&) = delete;
  Shortcut& operator=(const Shortcut&) = delete;
  Shortcut(Shortcut&&) = delete;
  Shortcut& operator=(Shortcut&&) = delete;

  /// What it says of a call; nothing where it does not apply. Throws as a simulation of the whole
  /// does.
  virtual std::optional<Prediction> predict(AskedCall& call) = 0;

 protected:
  CallModel& model() const { return model_; }
  const CallCompiler& compiler() const { return model_.compiler(); }

 private:
  CallModel& model_;
};

}  // namespace collsim
