// How a thread block's warps are shared among the lanes of a rank.

#include <gtest/gtest.h>

#include "sim/cost/warps.h"

namespace collsim {
namespace {

TEST(WarpsOfLane, one_lane_has_all) {
  EXPECT_EQ(warps_of_lane(Protocol::ll, 16, 1, 0), 16);
  EXPECT_EQ(warps_of_lane(Protocol::simple, 17, 1, 0), 17);
}

// 640 threads: 448 and 192 of them, 14 and 6 warps.
TEST(WarpsOfLane, a_tree_with_flags_reduces_with_seven_tenths) {
  EXPECT_EQ(warps_of_lane(Protocol::ll128, 20, 2, 0), 14);
  EXPECT_EQ(warps_of_lane(Protocol::ll128, 20, 2, 1), 6);
}

// 640 threads: 320 + 64 and 256. 256 threads: 128 each, below the 256 that get more.
TEST(WarpsOfLane, a_tree_with_simple_reduces_with_half_and_a_little) {
  EXPECT_EQ(warps_of_lane(Protocol::simple, 20, 2, 0), 12);
  EXPECT_EQ(warps_of_lane(Protocol::simple, 20, 2, 1), 8);
  EXPECT_EQ(warps_of_lane(Protocol::simple, 8, 2, 0), 4);
}

TEST(WarpsOfLane, many_lanes_share_among_eight) {
  EXPECT_EQ(warps_of_lane(Protocol::simple, 20, 4, 3), 5);
  EXPECT_EQ(warps_of_lane(Protocol::simple, 20, 16, 9), 2);
  EXPECT_EQ(warps_of_lane(Protocol::ll, 3, 16, 0), 1);
}

// 20 warps in 1, 3, 4 and 8 shares: 20, 7, 5, 3. Of 20, 7 and 5 one is kept, the rest is halved.
TEST(WarpsOfMessage, send_and_receive_halve_the_share_of_a_peer) {
  EXPECT_EQ(warps_of_message(20, 1), 9);
  EXPECT_EQ(warps_of_message(20, 3), 3);
  EXPECT_EQ(warps_of_message(20, 4), 2);
  EXPECT_EQ(warps_of_message(20, 8), 1);
  EXPECT_EQ(warps_of_message(20, 30), 1);
  EXPECT_EQ(warps_of_message(0, 2), 1);
}

TEST(WarpsOfLane, without_thread_blocks_there_are_none) {
  EXPECT_EQ(warps_of_lane(Protocol::simple, 0, 2, 1), 0);
}

TEST(IsHalfBlock, counts_the_warp_for_fences) {
  EXPECT_TRUE(is_half_block(Protocol::simple, 9));
  EXPECT_FALSE(is_half_block(Protocol::simple, 8));
  EXPECT_FALSE(is_half_block(Protocol::simple, 17));
  EXPECT_TRUE(is_half_block(Protocol::ll, 8));
  EXPECT_TRUE(is_half_block(Protocol::ll128, 10));
  EXPECT_FALSE(is_half_block(Protocol::ll128, 0));
}

// Eight stripes and a root: 5 of 20 warps go up, 7.5 hand eight stripes in: 5 / (7.5 / 8). Below it
// 4 go down as well, and 5.5 hand in. A root of four ranks goes up by 7, and 6.5 hand two stripes
// in.
TEST(ShareOfHead, is_of_the_warps_that_nvlstree_gives) {
  EXPECT_DOUBLE_EQ(share_of_head({16, 8, true}, true), 5 / (7.5 / 8));
  EXPECT_DOUBLE_EQ(share_of_head({16, 8, false}, true), 5 / (5.5 / 8));
  EXPECT_DOUBLE_EQ(share_of_head({16, 8, false}, false), 4 / (5.5 / 8));
  EXPECT_DOUBLE_EQ(share_of_head({4, 2, true}, true), 7 / (6.5 / 2));
}

}  // namespace
}  // namespace collsim
