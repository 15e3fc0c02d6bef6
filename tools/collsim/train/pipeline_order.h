#pragma once

#include <cstdint>
#include <vector>

#include "tools/collsim/train/training_setup.h"

namespace collsim {

/// A forward or backward pass of a microbatch through a chunk of layers.
struct PipelinePass {
  std::int64_t microbatch = 0;
  std::int64_t chunk = 0;
  bool backward = false;
};

/// Forward and backward passes of a stage in the order in which it runs them: Megatron-LM's
/// schedules (megatron/core/pipeline_parallel/schedules.py).
std::vector<PipelinePass> passes_of(const TrainingSetup& setup, std::int64_t microbatches,
                                    std::int64_t stage);

}  // namespace collsim
