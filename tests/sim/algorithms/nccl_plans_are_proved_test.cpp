#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/algorithms/nccl_plan.h"
#include "sim/checker.h"
#include "sim/input_error.h"
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
      const Plan plan = make_nccl_plan(collective, algorithm, channels, channel_count, root);
      const CheckReport report = check(plan, {.seed = n});
      ASSERT_TRUE(report.ok()) << n << " ranks, root " << root << "\n" << first_sentence(report);
    }
  }
}

TEST_P(NcclPlans, share_a_schedule_where_channels_are_equal) {
  const auto [collective, algorithm] = GetParam();
  const Plan plan = make_nccl_plan(collective, algorithm, test::one_node_channels(8, 24), 24, 0);
  EXPECT_EQ(plan.channels(), 24U);
  EXPECT_EQ(plan.schedules.size(), 1U);
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
  EXPECT_THROW(make_nccl_plan(Collective::all_reduce, NcclAlgorithm::ring, channels, 3),
               InputError);
  EXPECT_THROW(make_nccl_plan(Collective::reduce, NcclAlgorithm::ring, channels, 1, 4), InputError);
}

}  // namespace
}  // namespace collsim
