// Channels that a message between nodes gets, by release and by NCCL_NCHANNELS_PER_NET_PEER.

#include "models/nccl/point_to_point.h"

#include <gtest/gtest.h>

#include "models/nccl/choice.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

PointToPoint on_nodes(std::string_view machine, std::uint32_t nodes, std::string_view version,
                      const Nccl::Variables& variables = {}) {
  const Topology topology = load_topology(find_data_file(machine, "topologies"));
  return Nccl(topology, variables, parse_nccl_version(version), nodes).point_to_point();
}

// 8 H100 with a 400 Gb/s NIC each: 16 channels. 2.19 always gives two. 2.20 to 2.28 give two while
// 2 * ranks <= 4 * 16: up to 32 ranks, 4 nodes; then one. Since 2.29.2 ceil(50 / 14) = 4, halved
// while 4 * ceil(ranks / 8) > 16: up to 32 ranks four, then two up to 64, then one.
TEST(ChannelsPerNetPeer, FollowTheRelease) {
  const auto per_peer = [](std::uint32_t nodes, std::string_view version) {
    return on_nodes("dgx-h100-x4", nodes, version).per_peer;
  };
  EXPECT_EQ(per_peer(4, "2.19.4"), 2U);
  EXPECT_EQ(per_peer(16, "2.19.4"), 2U);
  EXPECT_EQ(per_peer(4, "2.20.5"), 2U);
  EXPECT_EQ(per_peer(5, "2.20.5"), 1U);
  EXPECT_EQ(per_peer(4, "2.28.9"), 2U);
  EXPECT_EQ(per_peer(5, "2.28.9"), 1U);
  EXPECT_EQ(per_peer(4, "2.29.1"), 2U);
  EXPECT_EQ(per_peer(4, "2.29.2"), 4U);
  EXPECT_EQ(per_peer(5, "2.29.2"), 2U);
  EXPECT_EQ(per_peer(16, "2.29.2"), 1U);
}

// NVIDIA/nccl issue 1272: asked for, they are not halved, whatever the ranks; rounded up to a power
// of two, and no more than there are.
TEST(ChannelsPerNetPeer, AreWhatTheUserAsksFor) {
  for (const char* version : {"2.19.4", "2.20.5", "2.28.9", "2.30"}) {
    const auto per_peer = [&](const char* asked) {
      return on_nodes("dgx-h100-x4", 16, version, {{"NCCL_NCHANNELS_PER_NET_PEER", asked}})
          .per_peer;
    };
    EXPECT_EQ(per_peer("1"), 1U) << version;
    EXPECT_EQ(per_peer("3"), 4U) << version;
    EXPECT_EQ(per_peer("4"), 4U) << version;
  }
  const Nccl::Variables many{{"NCCL_NCHANNELS_PER_NET_PEER", "64"}};
  EXPECT_EQ(on_nodes("dgx-h100-x4", 16, "2.30", many).per_peer, 16U);
}

// ceil(50 / 25) = 2, ceil(50 / 50) = 1, and not before 2.29.2.
TEST(ChannelsPerNetPeer, ShareTheNicsBandwidth) {
  const auto per_peer = [](const char* each, std::string_view version) {
    return on_nodes("dgx-h100-x4", 2, version, {{"NCCL_P2P_PER_CHANNEL_NET_BW", each}}).per_peer;
  };
  EXPECT_EQ(per_peer("25", "2.30"), 2U);
  EXPECT_EQ(per_peer("50", "2.30"), 1U);
  EXPECT_EQ(per_peer("50", "2.28"), 2U);
}

// NVIDIA/nccl issue 1316, 8 H800: 2.18 had 32 channels, of which sends and receives have as many;
// 2.19 halved them.
TEST(ChannelsOfMessages, HalvedWith219) {
  for (const std::uint32_t nodes : {2U, 3U, 8U}) {
    EXPECT_EQ(on_nodes("dgx-h100-x4", nodes, "2.18").channels, 32U) << nodes;
    EXPECT_EQ(on_nodes("dgx-h100-x4", nodes, "2.19").channels, 16U) << nodes;
    EXPECT_EQ(on_nodes("dgx-h100-x4", nodes, "2.20").channels, 16U) << nodes;
  }
}

}  // namespace
}  // namespace collsim
