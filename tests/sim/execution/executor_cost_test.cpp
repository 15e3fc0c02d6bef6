// What each constant of a calibration does, on the smallest plans that show it.

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/native_fabric.h"
#include "sim/plan/schedule_writer.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

constexpr BytesPerSecond rate = gigabytes_per_second(10);
constexpr Seconds alpha = microseconds(1);

/// As if every link were NVLink: corrections count there alone.
Wiring over_nvlink(Wiring wiring) {
  for (std::vector<Wire>& wires : wiring.wires) {
    for (Wire& wire : wires) wire.kind = LinkKind::nvlink;
  }
  return wiring;
}

double microseconds_of(const Plan& plan, Bytes size, const Calibration& cost,
                       const Chunking& chunking = {}, LinkKind kind = LinkKind::network) {
  const DataPartition partition(plan, size, Bytes{4}, chunking);
  Wiring wiring = test::private_wiring(plan, rate, alpha);
  if (kind == LinkKind::nvlink) wiring = over_nvlink(std::move(wiring));
  NativeFabric fabric;
  return in_microseconds(execute({plan, partition, wiring, cost, Protocol::simple}, fabric).time);
}

ProtocolConstants& simple(Calibration& cost) {
  return cost.protocols[static_cast<std::size_t>(Protocol::simple)];
}
ProtocolConstants& ll(Calibration& cost) {
  return cost.protocols[static_cast<std::size_t>(Protocol::ll)];
}

class ExecutorCost : public testing::Test {
 protected:
  // Two ranks, 20,000 bytes: two hops of 10,000 bytes, 1 us at 10 GB/s, and 1 us of alpha each.
  Plan plan_ = make_plan(Collective::all_reduce, "ring", uniform_placement(2));
  Bytes size_{20000};
  Calibration cost_;
};

TEST_F(ExecutorCost, links_alone) {
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_), 4);
}

TEST_F(ExecutorCost, launch_is_paid_once) {
  cost_.launch = microseconds(7);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_), 11);
}

TEST_F(ExecutorCost, a_protocols_setup_is_paid_once_too) {
  cost_.launch = microseconds(7);
  simple(cost_).setup = microseconds(2);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_), 13);
}

// 2 us, half a microsecond for each of 4 warps, and 1 us more for all_reduce, but not for reduce.
// 8 channels are three doublings, 24 log2(24) = 4.585.
// Two ranks: a call of one operation, and a group of two sends and two receives.
TEST_F(ExecutorCost, no_call_takes_less_than_the_cpu_to_issue_it) {
  cost_.issue = microseconds(50);
  cost_.issue_per_operation = microseconds(3);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_), 50);
  const Plan group = make_plan(Collective::all_to_all, "direct", uniform_placement(2));
  EXPECT_DOUBLE_EQ(microseconds_of(group, size_, cost_), 50 + 3 * 3);
}

TEST_F(ExecutorCost, alpha_of_the_link_kind_adds_to_the_links_latency) {
  simple(cost_).alpha[static_cast<std::size_t>(LinkKind::network)] = microseconds(2);
  simple(cost_).alpha[static_cast<std::size_t>(LinkKind::nvlink)] = microseconds(50);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_), 8);
}

// Each rank runs send, receive-reduce-copy-send, receive: three primitives, three slices.
TEST_F(ExecutorCost, step_is_serial_and_also_paid_by_the_last_receive) {
  simple(cost_).step = microseconds(0.5);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_), 4 + 3 * 0.5);
}

// Of the three slices two are sent, but the second is added to on the way.
TEST_F(ExecutorCost, slices_that_are_sent_cost_no_more) {
  cost_.corrections.copy_step = microseconds(50);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_, {}, LinkKind::nvlink), 4);
}

// Three ranks gather 10,000 bytes of each: two hops of 1 us and alpha, and the second hop's slice
// is sent on as it came.
TEST_F(ExecutorCost, slices_that_are_sent_on_as_they_came_cost_more) {
  const Plan gather = make_plan(Collective::all_gather, "ring", uniform_placement(3));
  cost_.corrections.copy_step = microseconds(0.25);
  EXPECT_DOUBLE_EQ(microseconds_of(gather, {30000}, cost_, {}, LinkKind::nvlink), 4 + 0.25);
  EXPECT_DOUBLE_EQ(microseconds_of(gather, {30000}, cost_), 4) << "not known of other links";
}

// Two channels share a link of 10 GB/s, with 10,000 bytes each. However they share it, the last
// byte leaves after 2 us and arrives 1 us later. With even shares both channels end then; by luck
// one gets more and ends before.
TEST_F(ExecutorCost, jitter_shares_a_link_unlike_and_loads_it_no_less) {
  const Plan plan = make_plan(Collective::broadcast, "ring", uniform_placement(2), 2);
  Wiring wiring = test::private_wiring(plan, rate, alpha);
  wiring.wires[1] = wiring.wires[0];
  const DataPartition partition(plan, size_, Bytes{4}, {});
  const auto ends = [&] {
    NativeFabric fabric;
    Timeline timeline;
    const Execution execution{plan, partition, wiring, cost_, Protocol::simple};
    EXPECT_NEAR(in_microseconds(execute(execution, fabric, &timeline).time), 3, 1e-9);
    double first = 3;
    for (const TimelineRecord& record : timeline.records) {
      if (record.rank == 0) first = std::min(first, in_microseconds(record.end));
    }
    return first;
  };
  EXPECT_NEAR(ends(), 2, 1e-9);
  cost_.jitter = 0.2;
  EXPECT_LT(ends(), 1.99);
}

// Twice the bytes: 2 us instead of 1 on each hop.
TEST_F(ExecutorCost, wire_factor_multiplies_bytes) {
  simple(cost_).wire_factor = 2;
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_), 6);
}

// Slices of 5,000 bytes, 0.5 us each. Step 1: slice 0 arrives at 0.5 + 1 = 1.5, slice 1 at 2.0.
// Step 2: they leave at 1.5..2.0 and 2.0..2.5 and arrive at 3.0 and 3.5.
TEST_F(ExecutorCost, slices_overlap_latency) {
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_, {.slices = 2}), 3.5);
}

// A slice is at least 8,000 bytes: 8,000 then 2,000 (0.8 and 0.2 us). They arrive at 1.8 and 2.0;
// leave again 1.8..2.6 and 2.6..2.8; arrive at 3.6 and 3.8.
TEST_F(ExecutorCost, a_smallest_slice_makes_the_last_one_short) {
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_, {.slices = 2, .smallest_slice = {8000}}),
                   3.8);
}

// A chain of two ranks, up on lane 0 of rank 1 and down on lane 0 of rank 0: rank 0's one primitive
// receives, reduces and sends on. Four chunks of 10,000 bytes, 1 us each, credits 1: chunk k may
// leave only when chunk k-1 was forwarded, 1 (send) + 1 (alpha) + 1 (forward) = 3 us later. The
// last starts at 9, and takes 2 hops of 2 us: 13. With 3 credits they leave 1 us apart: 3 + 4 = 7.
TEST_F(ExecutorCost, credits_hold_the_sender_back) {
  const Plan tree = make_plan(Collective::all_reduce, "tree", uniform_placement(2));
  EXPECT_DOUBLE_EQ(microseconds_of(tree, {40000}, cost_, {.largest_chunk = {10000}, .credits = 1}),
                   13);
  EXPECT_DOUBLE_EQ(microseconds_of(tree, {40000}, cost_, {.largest_chunk = {10000}, .credits = 3}),
                   7);
}

// Three ranks in a chain; rank 1's lanes send up and down at once. 8 chunks of 10,000 bytes: each
// lane of rank 1 alone moves one per us; sharing a thread block of 10 GB/s each gets half of it.
// 10 GB/s is also the links' rate, so that only rank 1 feels the thread block.
TEST_F(ExecutorCost, lanes_share_the_thread_block) {
  const Plan chain =
      make_plan(Collective::all_reduce, "double_binary_tree", uniform_placement(3, 3));
  const Chunking chunking{.largest_chunk = {10000}, .credits = 64};
  const double free = microseconds_of(chain, {160000}, cost_, chunking);
  simple(cost_).write = rate;
  const double shared = microseconds_of(chain, {160000}, cost_, chunking);
  // Rank 1 sends 2 x 80,000 bytes up and as much down: 32 us at 10 GB/s at the least.
  EXPECT_LT(free, 28);
  EXPECT_GE(shared, 32);
}

// Two ranks, 10,000 bytes: the broadcast's send takes 1 us on the wire (and 1 us to arrive);
// nothing holds the root up. Root: launch 0..5, send 5..6, launch 6..11, send 11..12, and so on.
// Rank 1 is over when the third message has arrived at 19, three launches of its own in: 5, then it
// waits.
TEST_F(ExecutorCost, calls_in_a_row_overlap_where_nobody_waits) {
  const Plan plan = make_plan(Collective::broadcast, "ring", uniform_placement(2));
  const Bytes size{10000};
  cost_.launch = microseconds(5);
  const DataPartition partition(plan, size, Bytes{4}, {});
  const Wiring wiring = test::private_wiring(plan, rate, alpha);
  const auto mean_of = [&](std::uint32_t calls) {
    NativeFabric fabric;
    return in_microseconds(
        execute({plan, partition, wiring, cost_, Protocol::simple, 0, calls}, fabric).time);
  };
  EXPECT_DOUBLE_EQ(mean_of(1), 7);
  EXPECT_DOUBLE_EQ(mean_of(3), 19.0 / 3);
}

// A ring's next call begins when both ranks have the result: nothing overlaps.
TEST_F(ExecutorCost, calls_in_a_row_add_up_where_all_wait_for_all) {
  cost_.launch = microseconds(5);
  const DataPartition partition(plan_, size_, Bytes{4}, {});
  const Wiring wiring = test::private_wiring(plan_, rate, alpha);
  NativeFabric fabric;
  const auto result = execute({plan_, partition, wiring, cost_, Protocol::simple, 0, 4}, fabric);
  EXPECT_DOUBLE_EQ(in_microseconds(result.time), 5 + 4);
}

// 4 us of links alone; thread blocks of network links pay 0.5 us per slice, three of them.
TEST_F(ExecutorCost, the_slowest_kind_of_link_may_have_costs_of_its_own) {
  simple(cost_).step = microseconds(100);
  auto& own = cost_.over[static_cast<std::size_t>(Protocol::simple)]
                        [static_cast<std::size_t>(LinkKind::network)];
  own = simple(cost_);
  own->step = microseconds(0.5);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_), 5.5);
}

/// LL and LL128: two warps that move 2,500 bytes each per round.
class ExecutorRounds : public ExecutorCost {
 protected:
  ExecutorRounds() { simple(cost_).warp_granule = {5000}; }

  double microseconds_in_rounds(const Plan& plan, Bytes size, const Chunking& chunking = {},
                                std::uint32_t warps = 1) {
    const DataPartition partition(plan, size, Bytes{4}, chunking);
    const Wiring wiring = test::private_wiring(plan, rate, alpha);
    NativeFabric fabric;
    return in_microseconds(
        execute({plan, partition, wiring, cost_, Protocol::simple, warps}, fabric).time);
  }
};

// Rounds of 5,000 bytes, 0.5 us on the wire each. First send: 0..0.5..1.0, arrivals at 1.5 and 2.0.
// Forward: 1.5..2.0..2.5, arrivals at 3.0 and 3.5; nothing limits the last receive.
TEST_F(ExecutorRounds, let_the_receiver_begin_within_a_slice) {
  EXPECT_DOUBLE_EQ(microseconds_in_rounds(plan_, size_), 3.5);
}

// Four pieces of one warp, 0.25 us each. The last one leaves at 1.0, arrives at 2.0, is forwarded
// until 2.25 and arrives at 3.25. Rounds that wait keep both warps together.
TEST_F(ExecutorRounds, go_warp_by_warp_where_none_waits) {
  simple(cost_).warp_granule = {2500};
  EXPECT_DOUBLE_EQ(microseconds_in_rounds(plan_, size_, {}, 2), 3.25);
  simple(cost_).wait = microseconds(1e-6);
  EXPECT_NEAR(microseconds_in_rounds(plan_, size_, {}, 2), 3.5, 1e-5);
}

// One round per chunk. The first send is over at 0.5 and its serial cost at 1.0, before its message
// arrives at 1.5; forward until 2.0, arrival at 3.0. The cost of that is over at 2.5, that of the
// last receive at 3.5.
TEST_F(ExecutorRounds, are_seen_before_the_serial_cost_is_paid) {
  simple(cost_).step = microseconds(0.5);
  EXPECT_DOUBLE_EQ(microseconds_in_rounds(plan_, {10000}), 3.5);
}

// The serial cost of the first send, 2 us, holds up the forward until 2.5: it arrives at 4.0. The
// forward's own cost is over at 5.0, that of the last receive at 7.0.
TEST_F(ExecutorRounds, serial_cost_holds_up_the_next_primitive) {
  simple(cost_).step = microseconds(2);
  EXPECT_DOUBLE_EQ(microseconds_in_rounds(plan_, {10000}), 7);
}

// Credits count slices: with one slice of credit all rounds of it may leave.
TEST_F(ExecutorRounds, of_a_slice_share_its_credit) {
  EXPECT_DOUBLE_EQ(microseconds_in_rounds(plan_, size_, {.credits = 2}), 3.5);
}

// A send waits for nothing: rounds leave at 0.5 and 1.0 and arrive at 1.5 and 2.0. To forward one
// takes a receive and a store, 0.4 us each: until 2.3 and 3.1, arrivals at 3.3 and 4.1. The last
// receive stores, too: until 4.1 and 4.9.
TEST_F(ExecutorRounds, take_their_time_however_fast_the_link) {
  simple(cost_).wait = microseconds(0.4);
  EXPECT_NEAR(microseconds_in_rounds(plan_, size_), 4.9, 1e-9);
  // A chunk of 1,000 bytes takes a whole round: 0.1 + 1 + 0.8 + 1 + 0.8.
  EXPECT_NEAR(microseconds_in_rounds(plan_, {2000}), 3.7, 1e-9);
}

// 1,600 bytes are 800 for each of two ranks. LL has 16 warps at most; 8 of them move 800 bytes in a
// round and work half of 0.4 us to send it. They wait 0.4 us for each receive and each store: 0.2 +
// 1 of alpha, 0.8 + 0.2 + 1, 0.8.
TEST_F(ExecutorCost, rounds_of_fewer_warps_work_less_and_wait_as_long) {
  ll(cost_).warp_granule = {100};
  ll(cost_).wait = microseconds(0.4);
  ll(cost_).work = microseconds(0.4);
  const DataPartition partition(plan_, {1600}, Bytes{4}, {});
  const Wiring wiring = test::private_wiring(plan_, rate, alpha);
  NativeFabric fabric;
  const Execution execution{plan_, partition, wiring, cost_, Protocol::ll, 8};
  EXPECT_NEAR(in_microseconds(execute(execution, fabric).time), 4, 1e-9);
}

// Three primitives: the first loads and sends, the second loads, receives and sends, the last
// receives. Its own data are on their way for 1 us while the second waits for its message.
TEST_F(ExecutorCost, own_data_are_on_their_way_while_a_rank_waits_for_its_peers) {
  ll(cost_).warp_granule = {100};
  const DataPartition partition(plan_, {1600}, Bytes{4}, {});
  const Wiring wiring = test::private_wiring(plan_, gigabytes_per_second(1e9), alpha);
  const auto time = [&](double first) {
    ll(cost_).first = microseconds(first);
    NativeFabric fabric;
    const Execution execution{plan_, partition, wiring, cost_, Protocol::ll, 16};
    return in_microseconds(execute(execution, fabric).time);
  };
  const double none = time(0);
  EXPECT_NEAR(time(0.75), none + 5 * 0.75, 1e-6);
  EXPECT_NEAR(time(1.5), none + 5 * 1.5 + 0.5, 1e-6);
}

// Three ranks in a chain, 16 chunks of a round. Rank 1 receives and sends all of them on two lanes,
// up and down. Where the first round of a slice takes 0.5 us longer for each, either lane alone
// would take 16 us; together they take 32, and up to 8 more for what the way up loads.
TEST_F(ExecutorCost, first_rounds_of_lanes_add_up) {
  const Plan chain =
      make_plan(Collective::all_reduce, "double_binary_tree", uniform_placement(3, 3));
  ll(cost_).warp_granule = {1000};
  ll(cost_).work = microseconds(0.01);
  const DataPartition partition(chain, {160000}, Bytes{4},
                                {.largest_chunk = {10000}, .credits = 64});
  const Wiring wiring = test::private_wiring(chain, gigabytes_per_second(1e9), alpha);
  const auto time = [&] {
    NativeFabric fabric;
    const Execution execution{chain, partition, wiring, cost_, Protocol::ll, 16};
    return in_microseconds(execute(execution, fabric).time);
  };
  EXPECT_LT(time(), 8);
  ll(cost_).first = microseconds(0.5);
  EXPECT_GE(time(), 32);
  EXPECT_LT(time(), 32 + 8 + 5);
}

// Two hops of 1 us and 1 us of alpha; three primitives of 0.5 us each, and of 0.75 us in thread
// blocks of half the warps.
TEST_F(ExecutorCost, thread_blocks_of_half_the_warps_take_longer_for_a_step) {
  simple(cost_).step = microseconds(0.5);
  cost_.corrections.half_block = microseconds(0.25);
  const DataPartition partition(plan_, size_, Bytes{4}, {});
  const Wiring wiring = over_nvlink(test::private_wiring(plan_, rate, alpha));
  const auto time = [&](std::uint32_t warps) {
    NativeFabric fabric;
    const Execution execution{plan_, partition, wiring, cost_, Protocol::simple, warps};
    return in_microseconds(execute(execution, fabric).time);
  };
  EXPECT_NEAR(time(9) - time(17), 3 * 0.25, 1e-9);
  EXPECT_DOUBLE_EQ(time(5), time(17));
}

// 10,000 bytes take 1 us to load or receive, and 5 to store or send. The first primitive loads and
// sends, the second does all four, the last receives and stores.
TEST_F(ExecutorCost, each_primitive_takes_as_long_as_all_its_operations) {
  simple(cost_).read = gigabytes_per_second(10);
  simple(cost_).write = gigabytes_per_second(2);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_), 6 + 1 + 12 + 1 + 6);
}

// Only one slice would be full; the second is empty and takes half a step: three primitives of two
// slices. Send: 0..0.5..1.5 and empty 1.5..1.75; arrivals 2.5 and 2.75. Forward from 2.5:
// 3.0..4.0, empty 4.0..4.25; arrivals 5.0 and 5.25. Last receive: 5.0..5.5, 5.5..5.75.
TEST_F(ExecutorCost, empty_slices_are_sent_and_take_half_a_step) {
  simple(cost_).step = microseconds(0.5);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, size_, cost_, {.slices = 2, .smallest_slice = {10000}}),
                   5.75);
}

// A rank sends 10,000 bytes in 1 us, and the root stores them in as much. One thread block of 10
// GB/s could just fill its link: a fifth is lost.
TEST_F(ExecutorCost, thread_blocks_that_fill_a_link_lose_some_of_it) {
  const Plan plan = make_plan(Collective::reduce, "ring", uniform_placement(2));
  const Bytes size{10000};
  simple(cost_).write = rate;
  cost_.corrections.link_contention = 0.2;
  EXPECT_NEAR(microseconds_of(plan, size, cost_, {}, LinkKind::nvlink), 1 / 0.8 + 1 + 1, 1e-9);
  EXPECT_NEAR(microseconds_of(plan, size, cost_), 1 + 1 + 1, 1e-9) << "not known of other links";
}

// Two channels of 5,000 bytes on one link of 20 GB/s: the first to begin is alone, the other finds
// it there. Thread blocks of 10 GB/s, 0.5 us when alone; the root stores in 0.5 us.
TEST_F(ExecutorCost, thread_blocks_are_slowed_down_by_those_that_send_when_they_begin) {
  Plan plan = make_plan(Collective::reduce, "ring", uniform_placement(2));
  plan.schedule_of_channel = {0, 0};
  simple(cost_).write = rate;
  cost_.corrections.link_contention = 0.5;
  Wiring wiring = over_nvlink(test::private_wiring(plan, gigabytes_per_second(20), alpha));
  wiring.wires[1] = wiring.wires[0];
  const DataPartition partition(plan, {10000}, Bytes{4}, {});
  NativeFabric fabric;
  EXPECT_NEAR(
      in_microseconds(execute({plan, partition, wiring, cost_, Protocol::simple}, fabric).time),
      0.5 * 2 + 1 + 0.5, 1e-9)
      << "1 / (1 + 1): half of the rate, while the first takes 1.5 times as long";
}

// Where the link has more to give than the thread block takes. Without jitter: 10 us to send, 20 to
// store and send, 10 to store, and 2 of alpha. Stores have none.
TEST_F(ExecutorCost, jitter_lets_slices_take_unlike_times) {
  cost_.jitter = 0.25;
  simple(cost_).write = gigabytes_per_second(1);
  const double time = microseconds_of(plan_, size_, cost_);
  EXPECT_GT(time, 5 + 10 + 10 + 2);
  EXPECT_LT(time, 15 + 30 + 10 + 2);
  EXPECT_GT(std::abs(time - 42), 1e-3);
}

// Two ranks in a chain, 16 chunks of 10,000 bytes: rank 1 sends them up on one lane and stores what
// comes down on another, 1 us each.
TEST_F(ExecutorCost, what_a_lane_stores_takes_its_part_of_the_thread_block) {
  const Plan chain = make_plan(Collective::all_reduce, "tree", uniform_placement(2));
  const Chunking chunking{.largest_chunk = {10000}, .credits = 64};
  EXPECT_LT(microseconds_of(chain, {160000}, cost_, chunking), 22);
  simple(cost_).write = rate;
  EXPECT_GE(microseconds_of(chain, {160000}, cost_, chunking), 16 * 2);
}

// The code of trees takes 0.5 us more a hop with protocols that flag lines: two hops up and down.
TEST_F(ExecutorCost, hops_of_code_for_several_peers_take_longer_where_lines_are_flagged) {
  Plan chain = make_plan(Collective::all_reduce, "tree", uniform_placement(2));
  chain.several_peers = true;
  const auto time = [&](Protocol protocol) {
    const DataPartition partition(chain, {1000}, Bytes{4}, {});
    const Wiring wiring = over_nvlink(test::private_wiring(chain, rate, alpha));
    NativeFabric fabric;
    return in_microseconds(execute({chain, partition, wiring, cost_, protocol, 16}, fabric).time);
  };
  const double ll_before = time(Protocol::ll);
  const double simple_before = time(Protocol::simple);
  cost_.corrections.multi_peer = microseconds(0.5);
  EXPECT_NEAR(time(Protocol::ll), ll_before + 2 * 0.5, 1e-9);
  EXPECT_DOUBLE_EQ(time(Protocol::simple), simple_before);
}

// With half as much again done together, at most that much faster.
TEST_F(ExecutorCost, lanes_of_a_tree_overlap) {
  Plan chain = make_plan(Collective::all_reduce, "double_binary_tree", uniform_placement(3, 3));
  const Chunking chunking{.largest_chunk = {10000}, .credits = 64};
  const auto time = [&] {
    return microseconds_of(chain, {160000}, cost_, chunking, LinkKind::nvlink);
  };
  simple(cost_).write = rate;
  const double in_turn = time();
  cost_.corrections.overlap = 0.5;
  EXPECT_DOUBLE_EQ(time(), in_turn) << "known of trees' code alone";
  chain.several_peers = true;
  EXPECT_GE(time(), in_turn / 1.5);
  EXPECT_LT(time(), in_turn / 1.1);
}

TEST_F(ExecutorCost, an_empty_call_costs_its_launch) {
  cost_.launch = microseconds(7);
  EXPECT_DOUBLE_EQ(microseconds_of(plan_, {0}, cost_), 7);
}

TEST_F(ExecutorCost, one_rank_costs_its_launch) {
  cost_.launch = microseconds(7);
  const Plan alone = make_plan(Collective::all_reduce, "ring", uniform_placement(1));
  EXPECT_DOUBLE_EQ(microseconds_of(alone, {1 << 20}, cost_), 7);
}

}  // namespace
}  // namespace collsim
