#pragma once

#include <cstdint>

#include "models/nccl/search/graph_search.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/function.h"
#include "models/nccl/settings/version.h"
#include "sim/base/units.h"

namespace collsim {

/// What a call runs on.
struct LaunchSize {
  std::uint32_t channels = 1;  ///< thread blocks
  std::uint32_t threads = 0;   ///< of each
};

/// What the size of a launch depends on.
struct LaunchInput {
  const NcclGraphs* graphs = nullptr;
  const NcclEnvironment* environment = nullptr;
  NcclVersion version;
  std::uint32_t ranks = 1;
  std::uint32_t channels = 1;       ///< of the communicator
  std::uint32_t nvls_channels = 0;  ///< of NVLS
};

/// Threads of one block at most: NCCL's "Max NThreads".
std::uint32_t max_threads(NcclAlgorithm algorithm, Protocol protocol, const LaunchInput& input);

/// Bytes that NCCL wants a thread to have before it takes another: NCCL's "threadThresholds".
std::int64_t thread_threshold(NcclAlgorithm algorithm, Protocol protocol, const LaunchInput& input);

/// Small messages run on fewer channels, then on fewer threads (NCCL src/enqueue.cc, since
/// 2.31 src/tuning/tuning_general.cc). `size` as tuning counts it.
LaunchSize launch_size(NcclAlgorithm algorithm, Protocol protocol, Bytes size,
                       const LaunchInput& input);

}  // namespace collsim
