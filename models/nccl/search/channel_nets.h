#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/nccl/search/graph.h"
#include "models/nccl/system/paths.h"
#include "models/nccl/system/system.h"

namespace collsim {

/// How a GPU of a channel reaches other nodes.
struct ChannelNet {
  int nic = 0;                         ///< number of the host's NIC (NcclNet::nics)
  std::optional<std::uint32_t> relay;  ///< local rank of the GPU through which it sends (PXN)
  bool operator==(const ChannelNet&) const = default;
};

/// The NIC by which each GPU of a node reaches other nodes, by search channel. The first GPU of a
/// channel takes the NIC that the channel begins at, every other one the NIC that it ends at (NCCL
/// src/graph/topo.cc, ncclTopoGetNetDev). None where the graph has no NICs.
class ChannelNets {
 public:
  ChannelNets() = default;
  /// The first `channels` of the graph.
  ChannelNets(const NcclSystem& system, const NcclPaths& paths, const NcclGraph& graph,
              std::uint32_t channels);
  /// Makes those of NVLSTree: the GPU at the head of a stripe takes the NICs of its search channels
  /// in turn (NCCL src/graph/topo.cc, getNvlsNetDev). `channels` run.
  static ChannelNets of_heads(const NcclSystem& system, const NcclGraph& graph,
                              std::uint32_t channels);

  /// The NIC of the GPU with that rank in its node; channels that run repeat those of the search.
  /// NCCL cuts a message over the ports of a merged NIC; here the channels of such a NIC take them
  /// in turn, which fills them alike where it has as many channels as ports.
  std::optional<ChannelNet> of(std::uint32_t channel, std::uint32_t local_rank) const;

 private:
  struct Found {
    std::vector<int> nics;
    std::size_t turn = 0;  // earlier channels that begin at the same NIC
    std::optional<std::uint32_t> relay;
  };
  static std::optional<Found> found(const NcclSystem& system, const NcclPaths& paths,
                                    const NcclGraph& graph, std::uint32_t channel,
                                    std::uint32_t gpu);

  static std::optional<Found> found_for_head(const NcclSystem& system, const NcclGraph& graph,
                                             std::uint32_t channel, std::uint32_t gpu);

  std::vector<std::vector<std::optional<Found>>> nets_;  // [channel][local rank]
};

}  // namespace collsim
