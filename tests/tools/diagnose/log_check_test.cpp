// What NCCL's log says without times.

#include "tools/collsim/diagnose/log_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace collsim {
namespace {

bool names(const std::vector<std::string>& sentences, const std::string& text) {
  return std::any_of(sentences.begin(), sentences.end(),
                     [&](const std::string& each) { return each.find(text) != std::string::npos; });
}

LogFacts two_hosts() {
  LogFacts facts;
  facts.any = true;
  facts.ranks = 4;
  facts.nodes = 2;
  facts.local_ranks = 2;
  facts.channels = facts.fewest_channels = 4;
  facts.network = "IB";
  facts.nics = {"mlx5_0", "mlx5_1"};
  facts.rings[0] = {0, 1, 2, 3};
  facts.transports[LogTransport::peer_to_peer] = {2, "line"};
  facts.transports[LogTransport::rdma_gpudirect] = {2, "line"};
  return facts;
}

TEST(LogCheck, of_a_healthy_log_finds_nothing) {
  const LogCheck check = check_log(two_hosts());
  EXPECT_TRUE(check.odd.empty()) << check.odd.front();
  EXPECT_TRUE(names(check.seen, "1 rings of 4 ranks"));
  EXPECT_TRUE(names(check.seen, "2 NICs of IB: mlx5_0, mlx5_1"));
}

// Rank 1 twice and rank 2 never.
TEST(LogCheck, finds_rings_that_miss_a_rank) {
  LogFacts facts = two_hosts();
  facts.rings[1] = {0, 1, 1, 3};
  const LogCheck check = check_log(facts);
  ASSERT_EQ(check.odd.size(), 1U);
  EXPECT_TRUE(names(check.odd, "the ring of channel 1"));
}

TEST(LogCheck, finds_what_is_slower_than_it_could_be) {
  LogFacts facts = two_hosts();
  facts.fewest_channels = 2;
  facts.transports[LogTransport::host_memory] = {3, "Channel 00 : 0[0] -> 1[1] via SHM"};
  facts.transports[LogTransport::rdma] = {1, "Channel 00 : 1[1] -> 2[0] via NET/IB/0"};
  facts.no_gpudirect = true;
  facts.too_far = {1, "GPU Direct RDMA Disabled for GPU 0 / HCA 1 (distance 7 > 5)"};
  facts.variables["NCCL_P2P_LEVEL"] = "LOC";
  const LogCheck check = check_log(facts);
  EXPECT_TRUE(names(check.odd, "2 to 4 channels"));
  EXPECT_TRUE(names(check.odd, "3 connections go through host memory"));
  EXPECT_TRUE(names(check.odd, "nvidia-peermem or dma-buf is missing"));
  EXPECT_TRUE(names(check.odd, "distance 7 > 5"));
  EXPECT_TRUE(names(check.odd, "NCCL_P2P_LEVEL=LOC is set"));
}

}  // namespace
}  // namespace collsim
