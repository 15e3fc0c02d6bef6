#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "models/call/prediction.h"

namespace collsim {

/// Simulates calls, those that are alike once: most changes of settings leave most calls as they
/// were. Threads may ask at the same time. All must ask with the same options.
class KnownCalls {
 public:
  /// What collsim::simulate() says.
  Prediction simulate(const CompiledCall& call, const SimulationOptions& options);

 private:
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, Prediction> predictions_;  // by hash_of() their executions
};

}  // namespace collsim
