// By which NICs sends and receives leave and enter nodes.

#include "models/nccl/search/message_nets.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/topologies/loader.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

/// From GPU 0 of a DGX H100 to GPU 3 of another: each GPU has a NIC beside it, with its number.
ChannelNet out_of_dgx(const Nccl::Variables& variables) {
  const Nccl nccl(load_topology(source + "/topologies/dgx-h100-x4.yaml"), variables);
  EXPECT_EQ(nccl.message_nets().in(0, 3), (ChannelNet{3, std::nullopt}));
  return nccl.message_nets().out(0, 0, 3).value();
}

TEST(MessageNets, KeepToTheRailOfTheReceiver) {
  EXPECT_EQ(out_of_dgx({}), (ChannelNet{3, 3U}));
  EXPECT_EQ(out_of_dgx({{"NCCL_P2P_PXN_LEVEL", "1"}}), (ChannelNet{3, 3U}));
}

TEST(MessageNets, LeaveByTheSendersWithoutPxn) {
  EXPECT_EQ(out_of_dgx({{"NCCL_PXN_DISABLE", "1"}}), (ChannelNet{0, std::nullopt}));
  EXPECT_EQ(out_of_dgx({{"NCCL_P2P_PXN_LEVEL", "0"}}), (ChannelNet{0, std::nullopt}));
}

TEST(MessageNets, KeepToTheRailWhereNothingElseIsAllowed) {
  EXPECT_EQ(out_of_dgx({{"NCCL_PXN_DISABLE", "1"}, {"NCCL_CROSS_NIC", "0"}}),
            (ChannelNet{3, std::nullopt}));
}

// Cards without NVLink cannot relay: the sender's own NIC.
TEST(MessageNets, NeedNvlinkToRelay) {
  const Nccl nccl(load_topology(source + "/topologies/l40s-8-x4.yaml"));
  for (Rank to = 0; to < 8; ++to) {
    EXPECT_FALSE(nccl.message_nets().out(0, 0, to)->relay.has_value());
  }
}

}  // namespace
}  // namespace collsim::test
