#pragma once

#include <cstdint>

#include "models/nccl/search/graph_search.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/function.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/system.h"
#include "models/nccl/tuning/tuning_constants.h"

namespace collsim {

/// NCCL's belief about one pair of algorithm and protocol. It is made to choose by, not to predict.
struct Tuning {
  float latency = 0;    ///< us
  float bandwidth = 0;  ///< GB/s of the size that tuning looks at; 0: not used
};

using TuningTable = PerFunction<PerAlgorithm<PerProtocol<Tuning>>>;

/// What the table is made of.
struct TuningInput {
  const NcclSystem* system = nullptr;
  const NcclGraphs* graphs = nullptr;
  std::uint32_t nodes = 1;
  const NcclEnvironment* environment = nullptr;
  NcclVersion version;
  std::uint32_t ranks = 0;   ///< on all nodes
  bool like_stripes = true;  ///< whether all nodes have as many ranks and the same heads of stripes
};

/// The table that NCCL prints under NCCL_DEBUG_SUBSYS=TUNING: latencies and bandwidths per
/// function, algorithm and protocol, with bandwidth 0 for all that is missing or switched off (NCCL
/// src/graph/tuning.cc, since 2.31 src/tuning).
TuningTable tune(const TuningInput& input);

/// A cell of the table as NCCL takes it for a call of `size`: trees fall short of their bandwidth
/// at middle sizes, rings wait longer once their pieces are long. `channels`: of the communicator.
Tuning tuning_for(Tuning cell, NcclFunction function, AlgorithmProtocol of, Bytes size,
                  std::uint32_t channels, const TuningInput& input);

/// The graph that an algorithm runs on; NVLSTree shares that of NVLS, PAT that of Tree.
const NcclGraph& graph_of(NcclAlgorithm algorithm, const NcclGraphs& graphs);

}  // namespace collsim
