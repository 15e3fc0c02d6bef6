// The trees between nodes against NCCL's rule, for every number of nodes up to 1024.

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "models/nccl/search/channels.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

/// NCCL src/graph/trees.cc: with L the lowest set bit of r, the parent is (r - L) with bit 2L set,
/// or r - L if there is no such node.
std::optional<Rank> first_tree_parent(Rank r, Rank nodes) {
  if (r == 0) return std::nullopt;
  const Rank lowest = r & (~r + 1);
  const Rank up = (r - lowest) | (2 * lowest);
  return up < nodes ? up : r - lowest;
}

/// Mirrored for an even number of nodes, shifted by one for an odd one.
std::optional<Rank> second_tree_parent(Rank r, Rank nodes) {
  const bool even = nodes % 2 == 0;
  const auto parent = first_tree_parent(even ? nodes - 1 - r : (r + nodes - 1) % nodes, nodes);
  if (!parent) return std::nullopt;
  return even ? nodes - 1 - *parent : (*parent + 1) % nodes;
}

TEST(NodeTrees, FollowTheRuleForEveryNumberOfNodes) {
  // One search serves all: it depends on whether there are other nodes, not on how many.
  const Nccl two = nccl_on(golden_folder + "topologies/a100_1gpu.xml", 2);
  for (Rank nodes = 2; nodes <= 1024; ++nodes) {
    const std::vector<SearchedHost> hosts(nodes, {&two.system(), &two.graphs()});
    const NcclChannels channels = connect_channels(
        hosts,
        channel_origins(two.system(), two.graphs(), nodes, two.environment(), two.version()));
    ASSERT_EQ(channels.channels.size(), 2U);
    for (Rank r = 0; r < nodes; ++r) {
      ASSERT_EQ(channels.channels[0].tree.parent[r], first_tree_parent(r, nodes)) << nodes;
      ASSERT_EQ(channels.channels[1].tree.parent[r], second_tree_parent(r, nodes)) << nodes;
    }
  }
}

TEST(NodeTrees, BalancedTreesSplitTheChildrenOverTwoGpus) {
  // DGX A100, 4 nodes, channel 0 has the chain 0 1 2 ... 7. Tree 1 over nodes: 0 - 2, 2 - 1, 2 - 3.
  // Node 2 is the larger child of 0, node 3 of 2: those hang on the first GPU. Node 1 is the
  // smaller child of 2 and hangs on its second GPU, rank 17.
  const Nccl nccl = nccl_on(golden_folder + "topologies/dgxa100.xml", 4);
  const auto& parent = nccl.channels().channels[0].tree.parent;
  EXPECT_EQ(parent[0], std::nullopt);
  EXPECT_EQ(parent[16], 0U);
  EXPECT_EQ(parent[8], 17U);
  EXPECT_EQ(parent[24], 16U);
  EXPECT_EQ(parent[1], 0U);
  EXPECT_EQ(parent[9], 8U);
}

TEST(NodeTrees, PairedRingsSwapOnOddNodes) {
  // DGX H100, 4 nodes: channel 0 is NET0 0 7 6 ... 1 NET1, channel 1 is NET1 1 2 ... 7 0 NET0. Node
  // 1 swaps them, so that channel 0 leaves node 0 and enters node 1 by NIC 1.
  const Nccl nccl = nccl_on(golden_folder + "topologies/dgxh100.xml", 4);
  const std::vector<Rank> expected{0,  7,  6,  5,  4,  3,  2,  1,  9,  10, 11, 12, 13, 14, 15, 8,
                                   16, 23, 22, 21, 20, 19, 18, 17, 25, 26, 27, 28, 29, 30, 31, 24};
  EXPECT_EQ(nccl.channels().channels[0].ring, expected);
}

}  // namespace
}  // namespace collsim::test
