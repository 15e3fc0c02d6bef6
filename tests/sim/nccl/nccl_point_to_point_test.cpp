#include "sim/nccl/nccl_point_to_point.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/base/input_error.h"
#include "sim/execution/data_partition.h"
#include "sim/plan/checker.h"

namespace collsim {
namespace {

constexpr std::int64_t kib = 1 << 10;

std::string first_sentence(const CheckReport& report) {
  return report.ok() ? "" : report.violations.front().text;
}

class NcclPointToPoint : public testing::TestWithParam<Collective> {};

// One node and nodes of 4, one and several parts, every root where there is one.
TEST_P(NcclPointToPoint, is_proved) {
  for (const Rank n : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 12U, 17U, 20U}) {
    for (const Rank per_node : {n, Rank{4}}) {
      if (n % per_node != 0) continue;
      for (const std::uint32_t parts : {1U, 4U}) {
        if (parts > 1 && n > 8) continue;
        const Rank roots = has_root(GetParam()) ? n : 1;
        for (Rank root = 0; root < roots; ++root) {
          const Plan plan = make_nccl_point_to_point_plan(
              GetParam(), uniform_placement(n, per_node), 8, parts, root);
          const CheckReport report =
              check(plan, {.credits = {1, 8}, .orders = 1, .loops = 1, .seed = n});
          ASSERT_TRUE(report.ok()) << n << " ranks, " << per_node << " per node, " << parts
                                   << " parts, root " << root << "\n"
                                   << first_sentence(report);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(all, NcclPointToPoint,
                         testing::Values(Collective::send_recv, Collective::all_to_all,
                                         Collective::gather, Collective::scatter),
                         [](const auto& each) { return std::string(to_string(each.param)); });

// Rounds 0 to 3 on 4 channels begin at 0, 2, 1, 3 (bits reversed); the second part one further.
TEST(nccl_point_to_point, rounds_and_parts_are_spread_over_the_channels) {
  const Plan plan =
      make_nccl_point_to_point_plan(Collective::all_to_all, uniform_placement(4, 4), 4, 2);
  // Rank 0 sends to 1 in round 1: block 1, chunks 2 (channel 2) and 3 (channel 3). On both it has
  // the first place, hence lane 0. Channel 0's first place is round 0's, in which it sends to
  // itself, its second that of round 3's second part: to rank 3, block 3, chunk 7.
  ASSERT_EQ(plan.schedule(2).program(0, 0).size(), 1U);
  EXPECT_EQ(plan.schedule(2).program(0, 0).front().first_chunk, 2U);
  ASSERT_EQ(plan.schedule(3).program(0, 0).size(), 1U);
  EXPECT_EQ(plan.schedule(3).program(0, 0).front().first_chunk, 3U);
  EXPECT_TRUE(plan.schedule(0).program(0, 0).empty());
  ASSERT_EQ(plan.schedule(0).program(0, 2).size(), 1U);
  EXPECT_EQ(plan.schedule(0).program(0, 2).front().first_chunk, 7U);
}

TEST(nccl_point_to_point, a_chunk_on_two_channels_is_found) {
  Plan plan = make_nccl_point_to_point_plan(Collective::all_to_all, uniform_placement(2, 2), 2, 1);
  plan.schedule_of_channel = {1, 1};
  const CheckReport report = check(plan, {.credits = {8}, .orders = 1});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(first_sentence(report), "shared chunk: channels 0 and 1 both carry chunk 1");
}

TEST(nccl_point_to_point, a_chunk_on_no_channel_is_found) {
  Plan plan = make_nccl_point_to_point_plan(Collective::all_to_all, uniform_placement(2, 2), 2, 1);
  plan.schedule_of_channel = {0};
  plan.schedules.resize(1);
  const CheckReport report = check(plan, {.credits = {8}, .orders = 1});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.violations.front().kind, ViolationKind::missing_contribution);
}

// 8 ranks on 32 channels leave 4 to each peer; 8 KiB fill two, of 4 KiB. 100 MiB in 4 are 25 MiB
// each, more than 32 x 512 KiB = 16 MiB: 8. On several nodes a part has at most one step: 8 MiB in
// 2 would be 4 MiB each, and only 4 are allowed.
TEST(nccl_point_to_point, parts_grow_with_the_message) {
  const Bytes step{512 * kib};
  EXPECT_EQ(nccl_parts(Bytes{0}, 8, 32, 32, 1, step), 1U);
  EXPECT_EQ(nccl_parts(Bytes{8 * kib}, 8, 32, 32, 1, step), 2U);
  EXPECT_EQ(nccl_parts(Bytes{100 * kib}, 8, 32, 32, 1, step), 4U);
  EXPECT_EQ(nccl_parts(Bytes{8192 * kib}, 8, 32, 32, 1, step), 4U);
  EXPECT_EQ(nccl_parts(Bytes{102400 * kib}, 8, 32, 32, 1, step), 8U);
  EXPECT_EQ(nccl_parts(Bytes{8192 * kib}, 8, 16, 4, 2, Bytes{128 * kib}), 4U);
}

// An all-to-all of 4 ranks with 4,000,000 bytes each: 1,000,000 to every peer, two parts of
// ceil(500000 / 4096) x 4096 = 503,808 and 496,192 bytes, a chunk each.
TEST(nccl_point_to_point, a_message_is_cut_into_parts) {
  const Plan plan =
      make_nccl_point_to_point_plan(Collective::all_to_all, uniform_placement(4, 4), 4, 2);
  NcclCall call{.size = {4000000}};
  DataPartition partition = DataPartition::nccl(plan, call);
  EXPECT_EQ(partition.loops(0), 1U);
  EXPECT_EQ(partition.chunk_bytes(0, 0, {2, 1}), Bytes{503808});
  EXPECT_EQ(partition.chunk_bytes(0, 0, {3, 1}), Bytes{496192});
  // In steps of 128 KiB they take 4 loops: 3 x 131,072 and 110,592 or 102,976.
  call.buffers.point_to_point_chunk.count = 128 * kib;
  partition = DataPartition::nccl(plan, call);
  EXPECT_EQ(partition.loops(0), 4U);
  EXPECT_EQ(partition.chunk_bytes(0, 2, {3, 1}), Bytes{131072});
  EXPECT_EQ(partition.chunk_bytes(0, 3, {2, 1}), Bytes{110592});
  EXPECT_EQ(partition.chunk_bytes(0, 3, {3, 1}), Bytes{102976});
}

// Two ranks have one peer each, and two parts go over two of the eight channels.
TEST(nccl_point_to_point, channels_without_a_message_are_idle) {
  const Plan plan =
      make_nccl_point_to_point_plan(Collective::send_recv, uniform_placement(2), 8, 2);
  const DataPartition partition = DataPartition::nccl(plan, {.size = {4000000}});
  EXPECT_EQ(partition.channels(), 8U);
  EXPECT_EQ(busy_channels(plan, partition), 2U);
}

TEST(nccl_point_to_point, what_is_no_exchange_is_refused) {
  EXPECT_THROW(make_nccl_point_to_point_plan(Collective::all_reduce, uniform_placement(4), 4, 1),
               InputError);
}

// Nodes of 2 and 1 ranks: rounds go from r to r + d as on one node, so each of the 3 ranks sends
// one message to each of the 2 others. The two rounds in which something is sent, d = 1 and 2, have
// the base channel r / 2 * 1 + r % 2 / 8 = 0 and 1 (the fullest node has 2 ranks): with bits
// reversed 0 and 2 of 4.
TEST(nccl_point_to_point, unequally_full_nodes_meet_as_one) {
  const Placement placement{{0, 0, 1}};
  const Plan plan = make_nccl_point_to_point_plan(Collective::all_to_all, placement, 4, 1);
  EXPECT_TRUE(check(plan).ok());
  const MessageRounds rounds(placement, 4);
  EXPECT_EQ(rounds.channel(0, 1, 0), 0U);
  EXPECT_EQ(rounds.channel(2, 0, 0), 0U);
  EXPECT_EQ(rounds.channel(0, 2, 0), 2U);
}

}  // namespace
}  // namespace collsim
