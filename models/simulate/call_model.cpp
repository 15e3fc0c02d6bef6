#include "models/simulate/call_model.h"

#include <cmath>

#include "models/call/memory_need.h"
#include "models/simulate/call_cache.h"
#include "models/simulate/likely_seconds.h"

namespace collsim {

CompiledCall CallModel::plan(Bytes size, const std::optional<Candidate>& given) {
  require_memory(*compiler_, size);
  return given ? compiler_->plan(size, *given, &layouts_) : compiler_->plan(size, &layouts_);
}

Prediction CallModel::estimate(Bytes size, const std::optional<Candidate>& given) {
  if (!estimator_) estimator_.emplace(*compiler_, hops_);
  const auto find = [&] {
    return given ? estimator_->estimate(size, *given) : estimator_->estimate(size);
  };
  const bool is_cached = method_.cache != nullptr && estimator_->needs_plan();
  return is_cached ? method_.cache->estimate(plan(size, given), find) : find();
}

Prediction CallModel::run(const CompiledCall& call, bool is_asked) const {
  SimulationOptions options = method_.simulation;
  if (!is_asked) options.begin = nullptr;
  const double most = method_.budget.stop_seconds;
  if (call.nccl_choice && !options.exact && std::isfinite(most)) {
    const double seconds = likely_seconds(call, most);
    if (seconds > most) throw TooLong{seconds / most};
  }
  return method_.cache != nullptr ? method_.cache->simulate(call, options)
                                  : simulate(call, options);
}

}  // namespace collsim
