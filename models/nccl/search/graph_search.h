#pragma once

#include "models/nccl/search/graph.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/paths.h"
#include "models/nccl/system/system.h"

namespace collsim {

/// The widest that a channel can be on this host, and what a GPU can send in all, GB/s.
struct SystemBandwidth {
  float per_channel = 0;
  float total = 0;
};
SystemBandwidth system_bandwidth(const NcclSystem& system, const NcclPaths& paths, bool inter);

/// The graphs of a host: what NCCL prints as "Pattern ...". `inter`: there are other nodes.
struct NcclGraphs {
  NcclGraph ring;
  NcclGraph tree;
  NcclGraph collnet_chain;
  NcclGraph collnet_direct;
  NcclGraph nvls;
};

/// Searches for every graph, relaxing what is wanted as NCCL does: the same channels, then
/// different ones, simpler trees, worse paths, pairs of NICs, less bandwidth; then more bandwidth
/// again for the channels that were found (NCCL src/graph/search.cc). Graphs in NCCL_GRAPH_FILE are
/// taken from there. Graphs that are switched off, or need hardware that is missing, have no
/// channels.
NcclGraphs search_graphs(const NcclSystem& system, const NcclPaths& paths, bool inter,
                         const NcclEnvironment& environment, NcclVersion version);

/// Whether NCCL_P2P_DISABLE or NCCL_P2P_LEVEL leaves no peer-to-peer over NVLink, without which
/// there is no NVLS either.
bool forbids_nvlink(const NcclEnvironment& environment);

/// The fewest GPUs of a node that NVLS is set up for: two from 2.28.7 on, three before (NCCL
/// src/transport/nvls.cc, ncclNvlsInit).
std::size_t min_nvls_gpus(NcclVersion version);

}  // namespace collsim
