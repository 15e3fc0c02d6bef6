#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/nccl/settings/path_type.h"

namespace collsim {

/// The shape of a channel, numbered as NCCL prints it (NCCL src/include/graph.h).
enum class GraphPattern : std::uint8_t {
  balanced_tree = 1,  ///< parent and one child on the first GPU, the other child on the second
  split_tree = 2,     ///< parent on the first GPU, both children on the second
  tree = 3,           ///< all traffic with other nodes on the first GPU
  ring = 4,
  nvls = 5,
  collnet_direct = 6
};

/// What a graph is for, numbered as in NCCL's graph files.
enum class GraphUse : std::uint8_t {
  ring = 0,
  tree = 1,
  collnet_chain = 2,
  nvls = 3,
  collnet_direct = 4
};

/// One way through a node.
struct GraphChannel {
  std::vector<std::uint32_t> gpus;         ///< indices of GPUs in the system, in order
  std::optional<std::uint32_t> first_net;  ///< index of the NIC by which data comes in
  std::optional<std::uint32_t> last_net;   ///< index of the NIC by which it leaves
  bool operator==(const GraphChannel&) const = default;
};

/// What NCCL's search finds for one kind of algorithm on one node.
struct NcclGraph {
  GraphUse use = GraphUse::ring;
  GraphPattern pattern = GraphPattern::ring;
  int cross_nic = 0;
  bool collnet = false;
  std::uint32_t min_channels = 1;
  std::uint32_t max_channels = 32;
  float intra_bandwidth = 0;  ///< GB/s a channel gets inside the node
  float inter_bandwidth = 0;  ///< GB/s a channel gets at the NIC
  float inter_latency = 0;    ///< us, the NIC's own
  PathType intra_type = PathType::nvl;
  PathType inter_type = PathType::pix;
  bool same_channels = true;  ///< the search wanted all channels to be the same
  int hops = 0;
  std::vector<GraphChannel> channels;

  std::uint32_t channel_count() const { return static_cast<std::uint32_t>(channels.size()); }
};

}  // namespace collsim
