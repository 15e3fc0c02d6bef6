#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/nccl/choice.h"
#include "models/nccl/settings/function.h"

namespace collsim {

/// A call that NCCL has chosen how to run, before its user buffers are registered.
struct UnregisteredCall {
  NcclFunction function = NcclFunction::all_reduce;
  NcclAlgorithm algorithm = NcclAlgorithm::ring;
  Protocol protocol = Protocol::simple;
  NcclVersion version = default_nccl_version;
  int compute_capability = 90;  ///< 10 major + minor
  std::uint32_t nodes = 1;
  std::uint32_t node_ranks = 8;  ///< ranks of a node
  std::uint32_t stripes = 8;     ///< into which NVLS cuts a node's data
  bool in_place = false;
  std::uint32_t min_thread_blocks = 1;   ///< NCCL_MIN_CTAS
  std::uint32_t max_thread_blocks = 64;  ///< NCCL_MAX_CTAS
};

/// What user buffers save that are registered with ncclCommRegister, or belong to a CUDA graph. It
/// changes neither algorithm nor protocol. The time that it saves is not predicted: docs/decode.md
/// has what was measured on two H100.
struct UserRegistration {
  std::string why_not;  ///< why nothing changes; empty: it does
  std::string saves;    ///< "the copies between user buffers and those of the multicast"
  std::string needs;    ///< what the buffers have to be
  std::optional<std::uint32_t> thread_blocks;  ///< that NCCL then runs at most; nothing: as before
};

/// By NCCL's user guide ("User Buffer Registration"), and of conditions and thread blocks by
/// src/register/coll_reg.cc and src/transport/nvls.cc (facts of them, not their text): NVLS since
/// 2.19, CollNet with a rank on each node since 2.21, Simple between GPUs of a node since 2.23.
UserRegistration user_registration(const UnregisteredCall& call);

}  // namespace collsim
