#include "models/simulate/call_model.h"

#include <cmath>

#include "models/call/memory_need.h"
#include "models/simulate/call_cache.h"

namespace collsim {

namespace {

/// A call that is taken to become steady and does not may send so many times what was expected.
constexpr double messages_beyond_expected = 2;

/// The options of a simulation that ends by TooManyMessages. The watch must outlive them.
SimulationOptions limited(SimulationOptions options, double max_messages, const Watch& watch) {
  options.begin = [begin = options.begin, max_messages](Bytes size, double messages) {
    if (messages > max_messages) throw TooManyMessages{};
    if (begin) begin(size, messages);
  };
  options.watch = &watch;
  return options;
}

}  // namespace

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
  const double most = method_.budget.max_messages;
  const Watch watch = [&](std::uint64_t sent) {
    if (static_cast<double>(sent) > messages_beyond_expected * most) throw TooManyMessages{};
    if (method_.simulation.watch != nullptr) (*method_.simulation.watch)(sent);
  };
  if (std::isfinite(most)) options = limited(std::move(options), most, watch);
  return method_.cache != nullptr ? method_.cache->simulate(call, options)
                                  : simulate(call, options);
}

}  // namespace collsim
