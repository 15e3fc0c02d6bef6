#pragma once

#include <cstdint>

#include "models/nccl/environment.h"
#include "models/nccl/graph_search.h"
#include "models/nccl/system.h"
#include "models/nccl/version.h"
#include "sim/nccl/nccl_channels.h"

namespace collsim {

/// Channels that NCCL may have at most.
std::uint32_t channel_limit(NcclVersion version);

/// The channels of a communicator over `nodes` equal hosts, rank = node * GPUs + local rank. Every
/// search channel gives two, of equal ring and of the two trees over nodes; then come the copies
/// and the cuts that NCCL makes (NCCL src/graph/connect.cc).
NcclChannels connect_channels(const NcclSystem& system, const NcclGraphs& graphs,
                              std::uint32_t nodes, const NcclEnvironment& environment,
                              NcclVersion version);

/// Channels that NVLS runs, however many the search found (NCCL src/transport/nvls.cc).
std::uint32_t nvls_channel_count(int min_compute_capability, std::uint32_t nodes,
                                 const NcclEnvironment& environment);

}  // namespace collsim
