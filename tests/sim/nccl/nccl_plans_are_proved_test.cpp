#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/base/input_error.h"
#include "sim/nccl/nccl_plan.h"
#include "sim/nccl/nccl_schedules.h"
#include "sim/plan/checker.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

std::string first_sentence(const CheckReport& report) {
  return report.ok() ? "" : report.violations.front().text;
}

std::vector<Rank> rank_counts() {
  std::vector<Rank> counts;
  for (Rank n = 1; n <= 17; ++n) counts.push_back(n);
  counts.insert(counts.end(), {32, 64});
  return counts;
}

struct Kind {
  Collective collective;
  NcclAlgorithm algorithm;
};

class NcclPlans : public testing::TestWithParam<Kind> {};

// Every rank count up to 17; rings and trees in random orders; every root where there is one.
TEST_P(NcclPlans, are_proved_in_random_orders) {
  const auto [collective, algorithm] = GetParam();
  for (const Rank n : rank_counts()) {
    const std::uint32_t channel_count = n <= 17 ? 3 : 1;
    const NcclChannels channels = test::random_channels(n, channel_count, n);
    const Rank roots = has_root(collective) && n <= 17 ? n : 1;
    for (Rank root = 0; root < roots; ++root) {
      for (const bool in_place : {false, true}) {
        const Plan plan =
            make_nccl_plan(collective, algorithm, channels, channel_count, root, in_place);
        const CheckReport report = check(plan, {.seed = n});
        ASSERT_TRUE(report.ok()) << n << " ranks, root " << root << (in_place ? " in" : " out of")
                                 << " place\n"
                                 << first_sentence(report);
      }
    }
  }
}

TEST_P(NcclPlans, share_a_schedule_where_channels_are_equal) {
  const auto [collective, algorithm] = GetParam();
  const Plan plan = make_nccl_plan(collective, algorithm, test::one_node_channels(8, 24), 24, 0);
  EXPECT_EQ(plan.channels(), 24U);
  EXPECT_EQ(plan.schedules.size(), 1U);
}

/// How often a plan's ranks copy their own data while they send it.
std::size_t copies_of_own_data(Collective collective, NcclAlgorithm algorithm, bool in_place) {
  const Plan plan =
      make_nccl_plan(collective, algorithm, test::one_node_channels(5, 1), 1, 2, in_place);
  std::size_t copies = 0;
  for (Rank rank = 0; rank < 5; ++rank) {
    for (const Primitive& primitive : plan.schedule(0).program(rank, 0)) {
      if (primitive.kind == PrimitiveKind::copy_send) ++copies;
    }
  }
  return copies;
}

// Each of five ranks its block, or the root all.
TEST(NcclPlansInPlace, copy_no_own_data) {
  EXPECT_EQ(copies_of_own_data(Collective::all_gather, NcclAlgorithm::ring, false), 5U);
  EXPECT_EQ(copies_of_own_data(Collective::all_gather, NcclAlgorithm::ring, true), 0U);
  EXPECT_EQ(copies_of_own_data(Collective::all_gather, NcclAlgorithm::pat, false), 5U);
  EXPECT_EQ(copies_of_own_data(Collective::all_gather, NcclAlgorithm::pat, true), 0U);
  EXPECT_EQ(copies_of_own_data(Collective::broadcast, NcclAlgorithm::ring, false), 1U);
  EXPECT_EQ(copies_of_own_data(Collective::broadcast, NcclAlgorithm::ring, true), 0U);
}

std::string test_name(const testing::TestParamInfo<Kind>& kind) {
  return fmt::format("{}_{}", to_string(kind.param.collective), to_string(kind.param.algorithm));
}

INSTANTIATE_TEST_SUITE_P(all, NcclPlans,
                         testing::Values(Kind{Collective::all_reduce, NcclAlgorithm::ring},
                                         Kind{Collective::all_reduce, NcclAlgorithm::tree},
                                         Kind{Collective::all_gather, NcclAlgorithm::ring},
                                         Kind{Collective::reduce_scatter, NcclAlgorithm::ring},
                                         Kind{Collective::broadcast, NcclAlgorithm::ring},
                                         Kind{Collective::reduce, NcclAlgorithm::ring}),
                         test_name);

struct Shape {
  std::uint32_t nodes;
  Rank per_node;
};

std::vector<Shape> shapes() {
  std::vector<Shape> shapes;
  for (Rank per_node = 1; per_node <= 17; ++per_node) shapes.push_back({1, per_node});
  for (std::uint32_t nodes = 2; nodes <= 17; ++nodes) shapes.push_back({nodes, 1});
  for (const std::uint32_t nodes : {2U, 3U, 4U, 5U, 8U}) {
    for (const Rank per_node : {2U, 3U, 8U}) shapes.push_back({nodes, per_node});
  }
  return shapes;
}

class NcclSwitchPlans : public testing::TestWithParam<Kind> {};

// Heads and chains in random orders; three channels, of which nvls_tree has two kinds.
TEST_P(NcclSwitchPlans, are_proved_on_nodes) {
  const auto [collective, algorithm] = GetParam();
  for (const Shape& shape : shapes()) {
    const NcclChannels channels = test::node_channels(shape.nodes, shape.per_node, 3, shape.nodes);
    const Plan plan = make_nccl_plan(collective, algorithm, channels, 3);
    const CheckReport report = check(plan, {.orders = 1, .seed = shape.per_node});
    ASSERT_TRUE(report.ok()) << shape.nodes << " nodes of " << shape.per_node << "\n"
                             << first_sentence(report);
    EXPECT_EQ(report.messages > 0, plan.ranks() > 1);
  }
}

INSTANTIATE_TEST_SUITE_P(
    all, NcclSwitchPlans,
    testing::Values(Kind{Collective::all_reduce, NcclAlgorithm::nvls},
                    Kind{Collective::all_gather, NcclAlgorithm::nvls},
                    Kind{Collective::reduce_scatter, NcclAlgorithm::nvls},
                    Kind{Collective::all_reduce, NcclAlgorithm::nvls_tree},
                    Kind{Collective::all_reduce, NcclAlgorithm::collnet_direct},
                    Kind{Collective::all_gather, NcclAlgorithm::collnet_direct},
                    Kind{Collective::reduce_scatter, NcclAlgorithm::collnet_direct},
                    Kind{Collective::all_reduce, NcclAlgorithm::collnet_chain},
                    Kind{Collective::all_gather, NcclAlgorithm::pat},
                    Kind{Collective::reduce_scatter, NcclAlgorithm::pat}),
    test_name);

// Fewer heads than ranks: 2 stripes over nodes of 4.
TEST(nccl_plan, all_reduce_has_as_many_stripes_as_heads) {
  NcclChannels channels = test::node_channels(3, 4, 1);
  channels.nvls.heads = {3, 1};
  channels.collnet.heads = {0, 2};
  for (const NcclAlgorithm algorithm :
       {NcclAlgorithm::nvls, NcclAlgorithm::nvls_tree, NcclAlgorithm::collnet_direct}) {
    const Plan plan = make_nccl_plan(Collective::all_reduce, algorithm, channels, 1);
    EXPECT_EQ(plan.schedule(0).chunks(), 2U);
    EXPECT_TRUE(check(plan).ok()) << first_sentence(check(plan));
  }
}

TEST(nccl_plan, a_ring_of_the_same_order_is_the_same_wherever_it_begins) {
  NcclChannels channels = test::one_node_channels(3, 2);
  channels.channels[1].ring = {1, 2, 0};
  EXPECT_EQ(
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::ring, channels, 2).schedules.size(),
      1U);
  channels.channels[1].ring = {1, 0, 2};
  EXPECT_EQ(
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::ring, channels, 2).schedules.size(),
      2U);
}

std::vector<PrimitiveKind> kinds(const Plan& plan, Rank rank, std::uint32_t lane) {
  std::vector<PrimitiveKind> kinds;
  for (const Primitive& each : plan.schedule(0).program(rank, lane)) kinds.push_back(each.kind);
  return kinds;
}

// NCCL's ring on 4: send; 2 x recv_reduce_send; recv_reduce_copy_send; 2 x recv_copy_send; recv.
TEST(nccl_plan, a_ring_all_reduce_of_four) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::ring, test::one_node_channels(4, 1), 1);
  using enum PrimitiveKind;
  for (Rank rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(kinds(plan, rank, 0),
              (std::vector{send, recv_reduce_send, recv_reduce_send, recv_reduce_copy_send,
                           recv_copy_send, recv_copy_send, recv}));
  }
  // Rank 1 begins with the chunk of the position before it.
  EXPECT_EQ(plan.schedule(0).program(1, 0).front().first_chunk, 0U);
}

// A chain of 3: the root fuses, the middle has one program up and one down.
TEST(nccl_plan, a_tree_all_reduce_of_three) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::tree, test::one_node_channels(3, 1), 1);
  using enum PrimitiveKind;
  EXPECT_EQ(kinds(plan, 0, 0), std::vector{recv_reduce_copy_send});
  EXPECT_EQ(kinds(plan, 0, 1), std::vector<PrimitiveKind>{});
  EXPECT_EQ(kinds(plan, 1, 0), std::vector{recv_reduce_send});
  EXPECT_EQ(kinds(plan, 1, 1), std::vector{recv_copy_send});
  EXPECT_EQ(kinds(plan, 2, 0), std::vector{send});
  EXPECT_EQ(kinds(plan, 2, 1), std::vector{recv});
}

// A broadcast does not go round: from root 2 of 4 over 3 and 0 to 1.
TEST(nccl_plan, a_broadcast_ends_before_the_root) {
  const Plan plan = make_nccl_plan(Collective::broadcast, NcclAlgorithm::ring,
                                   test::one_node_channels(4, 1), 1, 2);
  using enum PrimitiveKind;
  EXPECT_EQ(kinds(plan, 2, 0), std::vector{copy_send});
  EXPECT_EQ(kinds(plan, 3, 0), std::vector{recv_copy_send});
  EXPECT_EQ(kinds(plan, 0, 0), std::vector{recv_copy_send});
  EXPECT_EQ(kinds(plan, 1, 0), std::vector{recv});
}

// NVLS on 3: every rank hands in and takes out 3 stripes, and the head of one passes its sum back;
// the switch adds up and copies each stripe in lanes of their own.
TEST(nccl_plan, nvls_on_three) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::nvls, test::node_channels(1, 3, 1), 1);
  using enum PrimitiveKind;
  const Schedule& schedule = plan.schedule(0);
  ASSERT_EQ(schedule.participants(), 4U);
  EXPECT_EQ(schedule.agents()[0], SwitchReducer::nvswitch);
  for (const std::uint32_t stripe : {0U, 1U, 2U}) {
    EXPECT_EQ(kinds(plan, 1, stripe), std::vector{send});
    EXPECT_EQ(kinds(plan, 1, 3 + stripe), std::vector{recv});
    EXPECT_EQ(kinds(plan, 3, stripe), std::vector{recv_send});
    EXPECT_EQ(kinds(plan, 3, 3 + stripe), std::vector{recv_send});
    EXPECT_EQ(schedule.peers(schedule.program(3, stripe)[0].receive_group).size(), 3U);
    EXPECT_EQ(schedule.peers(schedule.program(3, 3 + stripe)[0].send_group).size(), 3U);
  }
  EXPECT_EQ(kinds(plan, 1, 6), std::vector{recv_send});
}

// NVLSTree over 3 nodes. Tree 1: 0 over 2 over 1; tree 2, shifted by one: 1 over 0 over 2. Rank 2 k
// is a head of node k.
TEST(nccl_plan, nvls_tree_takes_the_two_trees_in_turn) {
  NcclChannels channels = test::node_channels(3, 2, 4);
  channels.nvls.heads = {0, 1};
  const Plan plan = make_nccl_plan(Collective::all_reduce, NcclAlgorithm::nvls_tree, channels, 4);
  EXPECT_EQ(plan.schedule_of_channel, (std::vector{0U, 1U, 0U, 1U}));
  const auto joins = [&](std::uint32_t channel, Rank from, Rank to) {
    for (const Connection& each : plan.schedule(channel).connections()) {
      if (each.src == from && each.dst == to) return true;
    }
    return false;
  };
  EXPECT_TRUE(joins(0, 2, 4) && joins(0, 4, 0));
  EXPECT_TRUE(joins(1, 4, 0) && joins(1, 0, 2));
  EXPECT_FALSE(joins(0, 2, 0) || joins(1, 4, 2));
}

// PAT on 8: aggregation 4, so that the tree of 8 is 4 subtrees of 2, with roots 0, 2, 4, 6. Rank 0
// is at offset o in the tree of block -o mod 8.
TEST(nccl_plan, pat_on_eight) {
  const Plan plan =
      make_nccl_plan(Collective::all_gather, NcclAlgorithm::pat, test::node_channels(8, 1, 1), 1);
  EXPECT_EQ(plan.min_credits, 4U);
  std::vector<std::uint32_t> blocks;
  for (const Primitive& each : plan.schedule(0).program(0, 0)) blocks.push_back(each.first_chunk);
  EXPECT_EQ(blocks, (std::vector{0U, 6U, 4U, 2U, 7U, 5U, 3U, 1U}));
  EXPECT_EQ(nccl_pat_aggregation(2), 1U);
  EXPECT_EQ(nccl_pat_aggregation(6), 4U);
  EXPECT_EQ(nccl_pat_aggregation(1024), 8U);
}

// With one slot each, every rank of the ring keeps a message that it cannot pass on.
TEST(nccl_plan, a_ring_with_single_slots_waits_for_itself) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::ring, test::one_node_channels(4, 1), 1);
  const CheckReport report = check(plan, {.credits = {1}, .orders = 1});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.violations.front().kind, ViolationKind::deadlock);
}

TEST(nccl_plan, what_nccl_does_not_have_is_refused) {
  const NcclChannels channels = test::one_node_channels(4, 2);
  EXPECT_THROW(make_nccl_plan(Collective::broadcast, NcclAlgorithm::tree, channels, 1), InputError);
  EXPECT_THROW(make_nccl_plan(Collective::all_reduce, NcclAlgorithm::pat, channels, 1), InputError);
  // These channels have neither heads nor chains.
  for (const NcclAlgorithm algorithm :
       {NcclAlgorithm::nvls, NcclAlgorithm::nvls_tree, NcclAlgorithm::collnet_direct,
        NcclAlgorithm::collnet_chain}) {
    EXPECT_THROW(make_nccl_plan(Collective::all_reduce, algorithm, channels, 1), InputError);
  }
  NcclChannels one_head = test::node_channels(1, 4, 1);
  one_head.nvls.heads = {2};
  EXPECT_THROW(make_nccl_plan(Collective::all_gather, NcclAlgorithm::nvls, one_head, 1),
               InputError);
  EXPECT_THROW(make_nccl_plan(Collective::all_reduce, NcclAlgorithm::ring, channels, 3),
               InputError);
  EXPECT_THROW(make_nccl_plan(Collective::reduce, NcclAlgorithm::ring, channels, 1, 4), InputError);
}

}  // namespace
}  // namespace collsim
