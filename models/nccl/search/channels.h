#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/nccl/search/graph_search.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/system.h"
#include "sim/nccl/nccl_channels.h"

namespace collsim {

/// Channels that NCCL may have at most.
std::uint32_t channel_limit(NcclVersion version);

/// What a channel is made of: a channel of the search, and the first or the second tree over nodes.
struct ChannelOrigin {
  std::uint32_t search_channel = 0;
  bool second_tree = false;
};

/// The channels of a communicator over `nodes` equal hosts. Every search channel gives two, of
/// equal ring and of the two trees over nodes; then come the copies and the cuts that NCCL makes
/// (NCCL src/graph/connect.cc).
std::vector<ChannelOrigin> channel_origins(const NcclSystem& system, const NcclGraphs& graphs,
                                           std::uint32_t nodes, const NcclEnvironment& environment,
                                           NcclVersion version);

/// Those channels over all ranks: rank = node * GPUs + local rank.
NcclChannels connect_channels(const NcclSystem& system, const NcclGraphs& graphs,
                              std::uint32_t nodes, std::span<const ChannelOrigin> origins);

/// The GPUs that head a stripe, of a graph whose channels list their heads.
std::vector<std::uint32_t> stripe_heads(const NcclGraph& graph);

/// Channels that NVLS runs, however many the search found (NCCL src/transport/nvls.cc).
std::uint32_t nvls_channel_count(int min_compute_capability, std::uint32_t nodes,
                                 const NcclEnvironment& environment);

}  // namespace collsim
