// What a thread block's work costs, by hand.

#include "sim/execution/thread_block_cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/nccl/nccl_plan.h"
#include "sim/plan/collective.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

TEST(ThreadBlockCosts, are_those_of_the_kind_of_link) {
  Calibration cost;
  constexpr auto simple = static_cast<std::size_t>(Protocol::simple);
  constexpr auto pcie = static_cast<std::size_t>(LinkKind::pcie);
  cost.protocols[simple].step = microseconds(1);
  cost.over[simple][pcie] = cost.protocols[simple];
  cost.over[simple][pcie]->step = microseconds(2);
  const ThreadBlockCosts costs = thread_block_costs(cost, Protocol::simple);
  EXPECT_EQ(costs[pcie].step, microseconds(2));
  EXPECT_EQ(costs[static_cast<std::size_t>(LinkKind::nvlink)].step, microseconds(1));
}

/// Loads and receives take 1 us per 10,000 bytes, stores and sends 4.
ProtocolConstants cost_by_operation() {
  ProtocolConstants cost;
  cost.read = gigabytes_per_second(10);
  cost.write = gigabytes_per_second(2.5);
  return cost;
}

/// What a rank's thread block sends in all in a chain of three, 0 being the root.
double shared_in_chain(Rank rank) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::tree, test::node_channels(1, 3, 1), 1);
  return in_gigabytes_per_second(shared_rate(plan.schedule(0), rank, cost_by_operation(), {}));
}

// The middle one passes sums up, 6 us, and results down, 9: both lanes get on with 20,000 bytes in
// 15 us. Of the leaf's two lanes one sends own data, 5 us. The root has one.
TEST(SharedRate, lets_all_lanes_that_send_get_on_alike) {
  EXPECT_EQ(shared_in_chain(0), in_gigabytes_per_second(unlimited));
  EXPECT_DOUBLE_EQ(shared_in_chain(1), 20.0 / 15);
  EXPECT_DOUBLE_EQ(shared_in_chain(2), 10.0 / 5);
}

// The leaf's way down stores what it receives, 5 us for 10,000 bytes, as long as its way up sends.
// The middle one stores nothing that it does not send on.
TEST(SendRateBesideLocalStores, is_what_lanes_send_while_others_store_as_much) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::tree, test::node_channels(1, 3, 1), 1);
  const auto rate = [&](Rank rank) {
    return in_gigabytes_per_second(
        send_rate_beside_local_stores(plan.schedule(0), rank, cost_by_operation(), BlockSetting{}));
  };
  EXPECT_EQ(rate(0), in_gigabytes_per_second(unlimited)) << "it has one lane";
  EXPECT_DOUBLE_EQ(rate(1), 20.0 / 15);
  EXPECT_DOUBLE_EQ(rate(2), 10.0 / 10);
}

// Rounds of 1,000 bytes: three operations to pass sums up and three to pass results down, 1 us
// each, for 2,000 bytes.
TEST(SharedRate, is_what_rounds_of_all_warps_leave_of_the_multiprocessor) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::tree, test::node_channels(1, 3, 1), 1);
  ProtocolConstants cost;
  cost.warp_granule = {100};
  cost.work = microseconds(1);
  BlockSetting setting;
  setting.full_round = 1000;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(shared_rate(plan.schedule(0), 1, cost, setting)),
                   2.0 / 6);
}

TEST(SharedRate, is_not_limited_where_nothing_costs_anything) {
  const Plan plan = make_plan(Collective::all_reduce, "tree", uniform_placement(2));
  EXPECT_EQ(shared_rate(plan.schedule(0), 1, {}, {}), unlimited);
}

TEST(FlowRate, gives_faster_thread_blocks_more) {
  const FlowRate slow = flow_rate({}, gigabytes_per_second(20));
  const FlowRate fast = flow_rate({}, gigabytes_per_second(50));
  EXPECT_EQ(fast.highest(), gigabytes_per_second(50));
  EXPECT_EQ(fast.cap, slow.cap) << "so that they are of one level";
  EXPECT_DOUBLE_EQ(fast.weight / slow.weight, 2.5);
  EXPECT_EQ(flow_rate({}, unlimited).weight, slow.weight) << "as a thread block of 20 GB/s";
}

TEST(FlowRate, gives_those_who_flag_lines_alike) {
  ProtocolConstants cost;
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
class Step : public testing::Test {
 protected:
  Step() {
    cost_.step = microseconds(1);
    cost_.corrections.copy_step = microseconds(0.25);
    cost_.read = gigabytes_per_second(16);
    cost_.write = gigabytes_per_second(16);
    worker_.schedule = &plan_.schedule(0);
    worker_.begin_program(worker_.schedule->program(0, 0));
    worker_.setting.cost = &cost_;
    worker_.slice_bytes = worker_.piece_bytes = 1000;
  }
  /// What the slice costs besides moving.
  Seconds step() const { return cost_before(worker_) + cost_after(worker_); }
  /// The primitive of that number.
  void go_to(std::uint32_t primitive) {
    worker_.begin_program(worker_.schedule->program(0, 0));
    for (; worker_.primitive < primitive; ++worker_.primitive) ++worker_.at;
  }

  Plan plan_ = make_plan(Collective::all_gather, "ring", uniform_placement(3));
  ProtocolConstants cost_;
  Worker worker_;
};

TEST_F(Step, is_more_for_what_is_sent_on_as_it_came) {
  ASSERT_EQ(worker_.program.size(), 3U);
  EXPECT_EQ(step(), microseconds(1));
  go_to(1);
  EXPECT_EQ(step(), microseconds(1.25));
  go_to(2);
  EXPECT_EQ(step(), microseconds(1));
}

TEST_F(Step, is_half_of_it_for_an_empty_slice) {
  cost_.corrections.half_block = microseconds(0.5);
  worker_.setting.half_block = true;
  EXPECT_EQ(step(), microseconds(1.5));
  worker_.slice_bytes = 0;
  EXPECT_EQ(step(), microseconds(1));
  cost_.warp_granule = {256};
  EXPECT_EQ(step(), microseconds(1.5)) << "flags need no fence";
}

// 1,000 bytes in one round: the first primitive loads and sends, and works 2 us for each; 2,000 on
// the wire.
TEST_F(Step, rounds_make_the_rate_of_flagged_lines) {
  worker_.setting.round = 1000;
  EXPECT_EQ(rate_of(worker_, 2000, {}), unlimited) << "rounds that take no time limit nothing";
  cost_.work = microseconds(2);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 2000, {})), 0.5);
}

// Receive-copy-send of 1,000 bytes in a lane of half of the warps waits 4 us to receive and 4 to
// store, and works half of 2 us to send.
TEST_F(Step, few_warps_work_less_but_wait_as_long) {
  worker_.setting.round = 1000;
  worker_.setting.warps = 0.5;
  go_to(1);
  cost_.wait = microseconds(4);
  cost_.work = microseconds(2);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 1.0 / 9);
}

// Where rounds do not wait, three operations take 2 us each, and 1 more in a tree's code.
TEST_F(Step, rounds_work_more_in_code_for_several_peers) {
  worker_.setting.round = 1000;
  go_to(1);
  cost_.work = microseconds(2);
  cost_.corrections.multi_peer = microseconds(1);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 1.0 / 6);
  worker_.setting.several_peers = true;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 1.0 / 7);
}

// The last primitive receives and stores 1,000 bytes in 2 us of a multiprocessor that sends 1,000
// in
// 4. Where it only waits, the other lane has the multiprocessor.
TEST_F(Step, what_a_lane_stores_takes_of_the_block_what_it_works) {
  worker_.setting.round = 500;
  worker_.setting.warps = 0.5;
  go_to(2);
  worker_.shared = gigabytes_per_second(0.25);
  cost_.warp_granule = {50};
  cost_.work = microseconds(1);
  EXPECT_DOUBLE_EQ(load_of_block(worker_), 0.5);
  cost_.wait = microseconds(3);
  EXPECT_GT(load_of_block(worker_), 0) << "or it would be over at once";
  EXPECT_LT(load_of_block(worker_), 1e-3);
}

TEST_F(Step, and_rate_are_nothing_to_a_switch) {
  worker_.is_agent = true;
  EXPECT_EQ(step(), Seconds{});
  EXPECT_EQ(rate_of(worker_, 1000, {}), unlimited);
}

TEST_F(Step, rates_fall_with_speed) {
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 8) << "loads and sends";
  worker_.setting.speed = 0.5;
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 4);
  go_to(2);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(rate_of(worker_, 1000, {})), 4) << "receives, stores";
}

}  // namespace
}  // namespace collsim
