#pragma once

#include "models/program/call_program.h"
#include "tools/collsim/train/training_setup.h"

namespace collsim {

/// The program of one training step of `microbatches` microbatches: a group of ranks for each
/// pipeline stage. Communicators are named tp, dp, ep, pp and, of ZeRO 3, dp and copies. Nodes have
/// `per_node` GPUs.
CallProgram training_program(const TrainingSetup& setup, const KernelTimes& kernels,
                             std::int64_t microbatches, Rank per_node);

/// What the host takes to issue a layer forward or backward, with what is computed again.
Seconds host_of_layer(const TrainingSetup& setup, const KernelConstants& constants, bool backward);

/// Buckets of gradients as PyTorch's DistributedDataParallel makes them from the second step on, of
/// tensors in the order in which their gradients are ready: a bucket ends with the tensor that
/// brings it to `cap`, the first one with that which brings it to 1 MiB. Gives for each bucket the
/// number of the first tensor after it.
std::vector<std::size_t> gradient_buckets(const std::vector<double>& tensor_bytes, double cap);

}  // namespace collsim
