#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "models/peer_kernels/engine_release.h"
#include "tools/collsim/plan/capacity_plan.h"
#include "tools/collsim/train/transformer.h"

namespace collsim {

/// What is asked of machines that decode a model by tensor parallelism, inside one node.
struct DecodePlanRequest {
  std::vector<Alternative> alternatives{};  ///< of each one node
  Transformer model{};
  std::vector<std::uint32_t> tensor{};   ///< ranks that share each matrix
  std::vector<std::uint32_t> batches{};  ///< sequences that get a token at a time
  std::int64_t context = 1024;           ///< tokens that the cache holds of each
  EngineRelease engine{};                ///< whose all-reduces run
  RunSpec run{};                         ///< as for a single call: NCCL's version, variables
};

/// One machine, one number of ranks, one batch.
struct DecodePlanRow {
  std::size_t alternative = 0;
  std::uint32_t tensor = 1;
  std::uint32_t batch = 1;
  Bytes size{};             ///< of an all-reduce
  std::string kernel{};     ///< that the engine runs for it; empty where one rank has no calls
  Seconds call{};           ///< one all-reduce
  Seconds communication{};  ///< all calls of a token: 2 L + 1 all-reduces, logits by NCCL
  Seconds by_nccl{};        ///< the same, were every call NCCL's
  Seconds kernels{};        ///< that a GPU computes for a token
  double memory = 0;        ///< bytes that a GPU holds
  bool fits = true;         ///< into its memory
  bool best = false;        ///< the quickest token of its batch, of those that fit
  Seconds token() const { return communication + kernels; }
};

/// The answer, by alternative, batch and ranks.
struct DecodePlan {
  std::vector<DecodePlanRow> rows{};
  std::set<std::string> warnings{};  ///< of machines and ranks that are left out
};

/// Predicts a token of every machine, number of ranks and batch, from CUDA graphs. Ranks that a
/// node has too few GPUs for, or that do not divide the model's heads, are left out with a warning;
/// so are machines whose GPUs have no known kernels. Throws InputError where nothing is left.
DecodePlan plan_decode(const DecodePlanRequest& request);

}  // namespace collsim
