#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/nccl/search/channel_nets.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/settings/version.h"
#include "models/nccl/system/paths.h"
#include "models/nccl/system/system.h"

namespace collsim {

/// By which NICs sends and receives go between nodes (NCCL src/graph/topo.cc, ncclTopoGetNetDev
/// without a graph). A receiver takes the NIC that it prefers on the channel. By what the sender's
/// node takes, NCCL_P2P_PXN_LEVEL says:
///
///   2   by the receiver's, so that the message stays on one rail, through the GPU beside the NIC
///       (PXN). Without NVLink to that GPU by the NIC that the sender prefers
///   1   by the receiver's, if GPUDirect reaches it, with a GPU on the way if the path has one
///   0   by the NIC that the sender prefers, unless NCCL_CROSS_NIC=0 asks for the receiver's
class MessageNets {
 public:
  MessageNets() = default;
  MessageNets(const NcclSystem& system, const NcclPaths& paths, const NcclEnvironment& environment,
              std::uint32_t channels);

  /// The NIC by which a message leaves the node of its sender; GPUs are named by their rank in the
  /// node. None where there are no NICs.
  std::optional<ChannelNet> out(std::uint32_t channel, std::uint32_t from, std::uint32_t to) const {
    return out(channel, from, *this, to);
  }
  /// The NIC where the receiver's node is another one. A rail is the same NIC, by its number, of
  /// both nodes; where the sender has none of that number, it takes the one that it prefers.
  std::optional<ChannelNet> out(std::uint32_t channel, std::uint32_t from,
                                const MessageNets& receiver, std::uint32_t to) const;
  std::optional<ChannelNet> in(std::uint32_t channel, std::uint32_t to) const;

 private:
  struct Way {
    std::optional<std::uint32_t> net;    // index among nets; none: the one that the sender prefers
    std::optional<std::uint32_t> relay;  // rank in the node
  };
  static Way way(const NcclSystem& system, const NcclPaths& paths,
                 const NcclEnvironment& environment, std::uint32_t gpu, std::uint32_t net);
  /// One of the net's NICs: the ports of a merged one in turn.
  std::optional<ChannelNet> found(std::uint32_t channel, std::uint32_t net,
                                  std::optional<std::uint32_t> relay) const;

  std::vector<std::vector<int>> nics_;                                // [net]
  std::vector<std::vector<std::optional<std::uint32_t>>> preferred_;  // [channel][rank]
  std::vector<std::vector<Way>> ways_;                                // [rank][net]
};

}  // namespace collsim
