#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "models/call/prediction.h"

namespace collsim {

/// Simulates calls, and estimates those that must be laid out for it, each of those that are alike
/// once: most changes of settings leave most calls as they were. Threads may ask at the same time:
/// of two that ask for the same, one waits. All must ask with the same options.
class CallCache {
 public:
  /// What collsim::simulate() says.
  Prediction simulate(const CompiledCall& call, const SimulationOptions& options);
  /// What `find` says of it, an estimate.
  Prediction estimate(const CompiledCall& call, const std::function<Prediction()>& find);

 private:
  struct Entry {
    std::mutex mutex;  // held while it is found
    std::optional<Prediction> prediction;
  };
  using Entries = std::unordered_map<std::uint64_t, std::unique_ptr<Entry>>;

  Prediction cached(Entries& entries, const CompiledCall& call,
                    const std::function<Prediction()>& find);

  std::mutex mutex_;
  Entries simulated_;  // by hash_of() their executions
  Entries estimated_;  // the same
};

}  // namespace collsim
