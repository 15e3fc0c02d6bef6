// What a thread block's work costs, by hand.

#include "sim/thread_block_cost.h"

#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"
#include "sim/collective.h"

namespace collsim {
namespace {

TEST(WithWarps, a_full_thread_block_costs_as_calibrated) {
  ProtocolCost cost;
  cost.least_round = 0.5;
  cost.reduce_round = microseconds(2);
  EXPECT_EQ(with_warps(cost, Protocol::ll, 16).reduce_round, cost.reduce_round);
  EXPECT_EQ(with_warps(cost, Protocol::ll, 99).reduce_round, cost.reduce_round);
  EXPECT_EQ(with_warps(cost, Protocol::ll, 0).reduce_round, cost.reduce_round);
}

// Half of LL's 16 warps: rounds take three quarters, and next to nothing in them still the half of
// a full thread block's.
TEST(WithWarps, others_have_shorter_rounds) {
  ProtocolCost cost;
  cost.least_round = 0.5;
  cost.reduce_round = microseconds(2);
  const ProtocolCost half = with_warps(cost, Protocol::ll, 8);
  EXPECT_DOUBLE_EQ(in_microseconds(half.reduce_round), 1.5);
  EXPECT_DOUBLE_EQ(in_microseconds(half.least_round * half.reduce_round), 1);
}

TEST(ThreadBlockCosts, are_those_of_the_kind_of_link) {
  TransferCost cost;
  constexpr auto simple = static_cast<std::size_t>(Protocol::simple);
  constexpr auto pcie = static_cast<std::size_t>(LinkKind::pcie);
  cost.protocols[simple].slice = microseconds(1);
  cost.over[simple][pcie] = cost.protocols[simple];
  cost.over[simple][pcie]->slice = microseconds(2);
  const ThreadBlockCosts costs = thread_block_costs(cost, Protocol::simple, 17);
  EXPECT_EQ(costs[pcie].slice, microseconds(2));
  EXPECT_EQ(costs[static_cast<std::size_t>(LinkKind::nvlink)].slice, microseconds(1));
}

TEST(ThreadBlocks, limit_where_any_kind_has_a_rate) {
  TransferCost cost;
  EXPECT_FALSE(limits_thread_blocks(cost, Protocol::simple));
  auto& own = cost.over[static_cast<std::size_t>(Protocol::simple)]
                       [static_cast<std::size_t>(LinkKind::cpu)];
  own.emplace();
  EXPECT_FALSE(limits_thread_blocks(cost, Protocol::simple));
  own->channel = gigabytes_per_second(20);
  EXPECT_TRUE(limits_thread_blocks(cost, Protocol::simple));
  EXPECT_FALSE(limits_thread_blocks(cost, Protocol::ll));
}

// A ring of three whose connection from rank 0 goes over a network: rank 2 has none to do with it.
TEST(SlowestLinks, count_those_that_come_and_go) {
  const Plan plan = make_plan(Collective::all_gather, "ring", uniform_placement(3));
  const Schedule& schedule = plan.schedule(0);
  std::vector<Wire> wires(schedule.connections().size());
  Rank peer = 0;
  for (std::size_t i = 0; i < wires.size(); ++i) {
    if (schedule.connections()[i].src != 0) continue;
    wires[i].kind = LinkKind::network;
    peer = schedule.connections()[i].dst;
  }
  const std::vector<LinkKind> kinds = slowest_links(schedule, wires);
  EXPECT_EQ(kinds[0], LinkKind::network);
  EXPECT_EQ(kinds[peer], LinkKind::network);
  EXPECT_EQ(kinds[3 - peer], LinkKind::nvlink);
}

/// Rank 0 of a ring of three that gathers: send, receive-copy-send, receive.
class SliceCost : public testing::Test {
 protected:
  SliceCost() {
    cost_.copy_slice = microseconds(0.25);
    cost_.copy = gigabytes_per_second(8);
    cost_.store = gigabytes_per_second(4);
    cost_.copy_round = microseconds(2);
    worker_.schedule = &plan_.schedule(0);
    worker_.program = worker_.schedule->program(0, 0);
    worker_.cost = &cost_;
    worker_.slice_cost = microseconds(1);
    worker_.slice_bytes = worker_.piece_bytes = 1000;
  }

  Plan plan_ = make_plan(Collective::all_gather, "ring", uniform_placement(3));
  ProtocolCost cost_;
  Worker worker_;
};

TEST_F(SliceCost, is_more_for_what_is_sent_on_as_it_came) {
  ASSERT_EQ(worker_.program.size(), 3U);
  EXPECT_EQ(work_of(*worker_.schedule, worker_.current()), Work::copy);
  EXPECT_EQ(slice_cost(worker_), microseconds(1));
  worker_.primitive = 1;
  EXPECT_EQ(work_of(*worker_.schedule, worker_.current()), Work::copy);
  EXPECT_EQ(slice_cost(worker_), microseconds(1.25));
  worker_.primitive = 2;
  EXPECT_EQ(work_of(*worker_.schedule, worker_.current()), Work::store);
  EXPECT_EQ(slice_cost(worker_), microseconds(1));
}

TEST_F(SliceCost, and_rate_are_nothing_to_a_switch) {
  worker_.is_agent = true;
  EXPECT_EQ(slice_cost(worker_), Seconds{});
  EXPECT_EQ(rate_of(worker_, 1000), unlimited);
}

TEST_F(SliceCost, rates_fall_with_speed) {
  worker_.speed = 0.5;
  EXPECT_EQ(rate_of(worker_, 1000), gigabytes_per_second(4));
  worker_.primitive = 2;
  EXPECT_EQ(rate_of(worker_, 1000), gigabytes_per_second(2));
}

// The first send reads the rank's own data, all of which has left the cache: 4 us for 1,000 bytes
// instead of 2. What is sent on as it came it does not.
TEST_F(SliceCost, rounds_that_wait_for_memory_take_longer) {
  worker_.round = 1000;
  worker_.cold = 1;
  cost_.cold_copy = microseconds(2);
  EXPECT_EQ(rate_of(worker_, 1000), gigabytes_per_second(0.25));
  worker_.primitive = 1;
  EXPECT_EQ(rate_of(worker_, 1000), gigabytes_per_second(0.5));
}

// 1,000 bytes in one round of 2 us, 2,000 on the wire; rounds that take no time limit nothing.
TEST_F(SliceCost, rounds_make_the_rate_of_flagged_lines) {
  worker_.round = 1000;
  EXPECT_EQ(rate_of(worker_, 2000), gigabytes_per_second(1));
  worker_.primitive = 2;
  EXPECT_EQ(rate_of(worker_, 2000), unlimited);
}

}  // namespace
}  // namespace collsim
