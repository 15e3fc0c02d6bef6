// What a thread block's work costs, by hand.

#include "sim/execution/thread_block_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/algorithms/nccl_plan.h"
#include "sim/algorithms/registry.h"
#include "sim/plan/collective.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

// Parts of 512, 640 and 528 bytes.
TEST(Misalignment, is_how_far_gathered_parts_begin_from_whole_granules) {
  const auto of = [](Collective collective, std::int64_t size) {
    return misalignment(collective, 4, {size}, {256});
  };
  EXPECT_EQ(of(Collective::all_gather, 2048), 0);
  EXPECT_DOUBLE_EQ(of(Collective::all_gather, 2560), 0.5 * 0.5);
  EXPECT_DOUBLE_EQ(of(Collective::all_gather, 2112), 0.9375 * 0.9375);
  EXPECT_EQ(of(Collective::reduce_scatter, 2112), 0);
  EXPECT_EQ(misalignment(Collective::all_gather, 4, {2112}, {}), 0) << "no granules";
}

TEST(ThreadBlockCosts, are_those_of_the_kind_of_link) {
  Calibration cost;
  constexpr auto simple = static_cast<std::size_t>(Protocol::simple);
  constexpr auto pcie = static_cast<std::size_t>(LinkKind::pcie);
  cost.protocols[simple].slice = microseconds(1);
  cost.over[simple][pcie] = cost.protocols[simple];
  cost.over[simple][pcie]->slice = microseconds(2);
  const ThreadBlockCosts costs = thread_block_costs(cost, Protocol::simple);
  EXPECT_EQ(costs[pcie].slice, microseconds(2));
  EXPECT_EQ(costs[static_cast<std::size_t>(LinkKind::nvlink)].slice, microseconds(1));
}

/// Loads take 1 us per 10,000 bytes, receives 2, stores 4, sends 5.
ProtocolCost cost_by_touch() {
  ProtocolCost cost;
  cost.rate = {gigabytes_per_second(10),
               gigabytes_per_second(5),
               gigabytes_per_second(2.5),
               gigabytes_per_second(2),
               unlimited,
               unlimited};
  return cost;
}

/// What a rank's thread block sends in all in a chain of three, 0 being the root.
double shared_in_chain(Rank rank, double others = 0) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::tree, test::node_channels(1, 3, 1), 1);
  ProtocolCost cost = cost_by_touch();
  cost.rate.other = gigabytes_per_second(10);
  BlockSetting setting;
  setting.others = others;
  return in_gigabytes_per_second(shared_rate(plan.schedule(0), rank, cost, setting));
}

// The middle one passes sums up, 8 us, and results down, 11: both lanes get on with 20,000 bytes in
// 19 us. Of the leaf's two lanes one sends own data, 6 us. The root has one.
TEST(SharedRate, lets_all_lanes_that_send_get_on_alike) {
  EXPECT_EQ(shared_in_chain(0), in_gigabytes_per_second(unlimited));
  EXPECT_DOUBLE_EQ(shared_in_chain(1), 20.0 / 19);
  EXPECT_DOUBLE_EQ(shared_in_chain(2), 10.0 / 6);
}

// The leaf's way down keeps what it receives, 6 us for 10,000 bytes, as long as its way up sends.
// The middle one keeps nothing that it does not send on.
TEST(RateBesideKept, is_what_lanes_send_while_others_keep_as_much) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::tree, test::node_channels(1, 3, 1), 1);
  const auto rate = [&](Rank rank) {
    return in_gigabytes_per_second(
        rate_beside_kept(plan.schedule(0), rank, cost_by_touch(), BlockSetting{}));
  };
  EXPECT_EQ(rate(0), in_gigabytes_per_second(unlimited)) << "it has one lane";
  EXPECT_DOUBLE_EQ(rate(1), 20.0 / 19);
  EXPECT_DOUBLE_EQ(rate(2), 10.0 / 12);
}

// Each lane of the middle one stands in line behind two others, 2 us.
TEST(SharedRate, is_less_among_other_thread_blocks) {
  EXPECT_DOUBLE_EQ(shared_in_chain(1, 2), 20.0 / 23);
}

// Each lane's code looks at several peers, 1 us more for 10,000 bytes.
TEST(SharedRate, is_less_in_code_for_several_peers) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::tree, test::node_channels(1, 3, 1), 1);
  ProtocolCost cost = cost_by_touch();
  cost.rate.fan = gigabytes_per_second(10);
  BlockSetting setting;
  setting.fans_out = true;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(shared_rate(plan.schedule(0), 1, cost, setting)),
                   20.0 / 21);
}

// As above, of rounds of 1,000 bytes: 8 us to pass sums up and 11 to pass results down. What warps
// wait for is no work.
TEST(SharedRate, is_what_rounds_of_all_warps_leave_of_the_multiprocessor) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::tree, test::node_channels(1, 3, 1), 1);
  ProtocolCost cost;
  cost.warp_granule = {100};
  cost.work = {microseconds(1), microseconds(2), microseconds(4), microseconds(5), {}, {}};
  cost.round.send = microseconds(3);
  BlockSetting setting;
  setting.full_round = 1000;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(shared_rate(plan.schedule(0), 1, cost, setting)),
                   2.0 / 19);
}

TEST(SharedRate, is_not_limited_where_nothing_costs_anything) {
  const Plan plan = make_plan(Collective::all_reduce, "tree", uniform_placement(2));
  EXPECT_EQ(shared_rate(plan.schedule(0), 1, {}, {}), unlimited);
}

TEST(FlowRate, gives_faster_thread_blocks_more) {
  const FlowRate slow = flow_rate({}, gigabytes_per_second(20));
  const FlowRate fast = flow_rate({}, gigabytes_per_second(50));
  EXPECT_EQ(fast.cap, gigabytes_per_second(50));
  EXPECT_DOUBLE_EQ(fast.weight / slow.weight, 2.5);
  EXPECT_EQ(flow_rate({}, unlimited).weight, slow.weight) << "as a thread block of 20 GB/s";
}

TEST(FlowRate, gives_those_who_flag_lines_alike) {
  ProtocolCost cost;
  cost.warp_granule = {256};
  EXPECT_EQ(flow_rate(cost, gigabytes_per_second(50)).weight,
            flow_rate(cost, gigabytes_per_second(20)).weight);
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
    cost_.rate.load = gigabytes_per_second(16);
    cost_.rate.send = gigabytes_per_second(16);
    cost_.rate.store = gigabytes_per_second(8);
    cost_.round.send = microseconds(2);
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
  EXPECT_EQ(slice_cost(worker_), microseconds(1));
  worker_.primitive = 1;
  EXPECT_EQ(slice_cost(worker_), microseconds(1.25));
  worker_.primitive = 2;
  EXPECT_EQ(slice_cost(worker_), microseconds(1));
}

TEST_F(SliceCost, is_more_for_what_has_data) {
  cost_.fence = microseconds(0.5);
  EXPECT_EQ(slice_cost(worker_), microseconds(1.5));
  worker_.slice_bytes = 0;
  EXPECT_EQ(slice_cost(worker_), microseconds(1));
}

TEST_F(SliceCost, and_rate_are_nothing_to_a_switch) {
  worker_.is_agent = true;
  EXPECT_EQ(slice_cost(worker_), Seconds{});
  EXPECT_EQ(rate_of(worker_, 1000, {}), unlimited);
}

TEST_F(SliceCost, rates_fall_with_speed) {
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 8) << "loads and sends";
  worker_.speed = 0.5;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 4);
  worker_.primitive = 2;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 4) << "stores";
}

// The first send, 2 us for 16,000 bytes, stands in line behind four others, 1 us each.
TEST_F(SliceCost, rates_fall_with_company) {
  cost_.rate.other = gigabytes_per_second(16);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {4})), 16.0 / 6);
}

// A tree's code takes 1.5 us besides the 3 of store and send, or the 2 of store.
TEST_F(SliceCost, rates_fall_in_code_for_several_peers) {
  cost_.rate.fan = gigabytes_per_second(16 / 1.5);
  worker_.fans_out = true;
  worker_.primitive = 1;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 16.0 / 4.5);
  worker_.primitive = 2;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 16.0 / 3.5);
}

// The first send reads the rank's own data, all of which has left the cache: 4 us for 1,000 bytes
// instead of 2. What is sent on as it came it does not.
TEST_F(SliceCost, rounds_that_wait_for_memory_take_longer) {
  worker_.round = 1000;
  worker_.cold = 1;
  cost_.cold_load = microseconds(2);
  EXPECT_EQ(rate_of(worker_, 1000, {}), gigabytes_per_second(0.25));
  worker_.primitive = 1;
  EXPECT_EQ(rate_of(worker_, 1000, {}), gigabytes_per_second(0.5));
}

// Half of the warps do half of the work, 1 us to send and 1 for memory; where rounds wait, each of
// both takes 2.
TEST_F(SliceCost, memory_is_waited_for_where_rounds_wait) {
  worker_.round = 1000;
  worker_.warps = 0.5;
  worker_.cold = 1;
  cost_.cold_load = microseconds(2);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 1.0 / 4);
  cost_.round = {};
  cost_.work.send = microseconds(2);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 1.0 / 2);
}

// 1,000 bytes in one round of 2 us, 2,000 on the wire; rounds that take no time limit nothing.
TEST_F(SliceCost, rounds_make_the_rate_of_flagged_lines) {
  worker_.round = 1000;
  EXPECT_EQ(rate_of(worker_, 2000, {}), gigabytes_per_second(1));
  worker_.primitive = 2;
  EXPECT_EQ(rate_of(worker_, 2000, {}), unlimited);
}

// Receive-copy-send of 1,000 bytes in a lane of half of the warps waits 4 us to receive and 2 to
// send, and works half of 2 us to store, and of 1 for each of two others in line.
TEST_F(SliceCost, few_warps_work_less_but_wait_as_long) {
  worker_.round = 1000;
  worker_.warps = 0.5;
  worker_.primitive = 1;
  cost_.round.receive = microseconds(4);
  cost_.work.store = microseconds(2);
  cost_.work.other = microseconds(1);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 1.0 / 7);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {2})), 1.0 / 8);
}

// The receive keeps 1,000 bytes: 2 us of a multiprocessor that sends 1,000 in 4; the 3 us that it
// waits leave it to the other lane.
TEST_F(SliceCost, what_a_lane_keeps_takes_of_the_block_what_it_works) {
  worker_.round = 500;
  worker_.warps = 0.5;
  worker_.primitive = 2;
  worker_.shared = gigabytes_per_second(0.25);
  cost_.warp_granule = {50};
  cost_.round.receive = microseconds(3);
  cost_.work.store = microseconds(2);
  EXPECT_DOUBLE_EQ(load_of_block(worker_, {}), 0.5);
  cost_.work = {};
  EXPECT_GT(load_of_block(worker_, {}), 0) << "or it would be over at once";
  EXPECT_LT(load_of_block(worker_, {}), 1e-3);
}

// 2 us to send and 2 to store 1,000 bytes, and as much again where warps line up with nothing.
TEST_F(SliceCost, stores_off_whole_granules_take_longer) {
  worker_.round = 1000;
  worker_.primitive = 1;
  worker_.misaligned = 0.5;
  cost_.round.store = microseconds(2);
  cost_.misaligned = 1;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 1.0 / 5);
}

// The slice's first half waits for its stores, the second does not.
TEST_F(SliceCost, the_last_stores_of_a_slice_are_not_waited_for) {
  worker_.round = 1000;
  worker_.primitive = 1;
  worker_.pieces = 2;
  cost_.round.store = microseconds(2);
  cost_.last_store = 0;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 1.0 / 4);
  worker_.pieces = 1;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 1.0 / 2);
}

}  // namespace
}  // namespace collsim
