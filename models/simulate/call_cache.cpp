#include "models/simulate/call_cache.h"

#include "sim/execution/execution_hash.h"

namespace collsim {

Prediction CallCache::simulate(const CompiledCall& call, const SimulationOptions& options) {
  return cached(simulated_, call, [&] { return collsim::simulate(call, options); });
}

Prediction CallCache::estimate(const CompiledCall& call, const std::function<Prediction()>& find) {
  return cached(estimated_, call, find);
}

/// What is not of the time is the call's own: its machine or settings may be others.
Prediction CallCache::cached(Entries& entries, const CompiledCall& call,
                             const std::function<Prediction()>& find) {
  const std::uint64_t hash = hash_of(execution_of(call));
  Entry* const entry = [&] {
    const std::lock_guard lock(mutex_);
    auto& known = entries[hash];
    if (!known) known = std::make_unique<Entry>();
    return known.get();
  }();
  const std::lock_guard lock(entry->mutex);
  if (!entry->prediction) {
    entry->prediction = find();
    return *entry->prediction;
  }
  const Prediction& known = *entry->prediction;
  Prediction prediction = outline(call);
  prediction.time = known.time;
  prediction.mean_over_ranks = known.mean_over_ranks;
  prediction.method = known.method;
  prediction.clamped = known.clamped;
  if (known.method) prediction.trust = trust_by(*known.method, prediction.trust);
  prediction.transfers = known.transfers;
  prediction.classes = known.classes;
  prediction.extent = known.extent;
  return prediction;
}

}  // namespace collsim
