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

/// What was searched on one host. All hosts have agreed on how many channels their graphs have.
struct SearchedHost {
  const NcclSystem* system = nullptr;
  const NcclGraphs* graphs = nullptr;
};

/// Those channels over all ranks, numbered host by host and in a host by local rank. A ring goes
/// through each host as its own search says; a tree enters each host at the head of its own chain,
/// and the pattern of the parent's own graph says which GPUs its children talk to (NCCL
/// src/graph/connect.cc, connectRings and connectTrees). Heads of stripes are those of the first
/// host.
NcclChannels connect_channels(std::span<const SearchedHost> hosts,
                              std::span<const ChannelOrigin> origins);

/// The GPUs that head a stripe, of a graph whose channels list their heads.
std::vector<std::uint32_t> stripe_heads(const NcclGraph& graph);

/// Channels that NVLS runs, however many the search found (NCCL src/transport/nvls.cc).
std::uint32_t nvls_channel_count(int min_compute_capability, std::uint32_t nodes,
                                 const NcclEnvironment& environment);

}  // namespace collsim
