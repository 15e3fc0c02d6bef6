// How thread blocks that move bytes are in each other's way.

#include "sim/crowding.h"

#include <gtest/gtest.h>

#include <array>

#include "sim/algorithms/registry.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// A ring of two on two channels; both ranks' first primitive sends.
class CrowdingOfRings : public testing::Test {
 protected:
  CrowdingOfRings() { cost_.crowding = 0.5; }

  static Plan ring_on_two_channels() {
    Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(2));
    plan.schedule_of_channel = {0, 0};
    return plan;
  }
  Worker worker_on(std::uint32_t channel, Rank rank = 0) const {
    Worker worker;
    worker.schedule = &plan_.schedule(channel);
    worker.program = worker.schedule->program(rank, 0);
    worker.cost = &cost_;
    worker.channel = channel;
    worker.rank = rank;
    return worker;
  }
  /// What a worker that sends at 10 GB/s finds.
  static double share_left(Crowding& crowding, Worker& worker) {
    return crowding.join(worker, gigabytes_per_second(10));
  }

  Plan plan_ = ring_on_two_channels();
  Wiring wiring_ = test::switch_wiring(plan_, gigabytes_per_second(10), {});
  ProtocolCost cost_;
};

// Both channels of a rank leave by its port of 10 GB/s; the other rank has another. With half lost
// where the link could just be filled, the share is 1 / (1 + x) and x the demand, or its inverse.
TEST_F(CrowdingOfRings, counts_those_who_are_sending) {
  Crowding crowding(plan_, wiring_, 2);
  Worker first = worker_on(0);
  Worker second = worker_on(1);
  Worker of_the_other_rank = worker_on(0, 1);
  EXPECT_DOUBLE_EQ(share_left(crowding, first), 1 / 2.0);
  EXPECT_DOUBLE_EQ(share_left(crowding, second), 1 / 1.5);
  EXPECT_DOUBLE_EQ(share_left(crowding, of_the_other_rank), 1 / 2.0);
  crowding.leave(first);
  crowding.leave(second);
  EXPECT_DOUBLE_EQ(share_left(crowding, second), 1 / 2.0);
}

// Of a lane only what it gets while all lanes send.
TEST_F(CrowdingOfRings, counts_parts_of_thread_blocks) {
  Crowding crowding(plan_, wiring_, 2);
  Worker half = worker_on(0);
  half.part = gigabytes_per_second(5);
  EXPECT_DOUBLE_EQ(share_left(crowding, half), 1 / 1.5);
}

TEST_F(CrowdingOfRings, counts_the_busy_thread_blocks_of_each_rank) {
  Crowding crowding(plan_, wiring_, 2);
  Worker lane = worker_on(1);
  lane.weight = 0.5;
  crowding.begin(worker_on(0));
  crowding.begin(lane);
  EXPECT_EQ(crowding.busy(0), 1.5);
  EXPECT_EQ(crowding.busy(1), 0);
  crowding.end(worker_on(0));
  EXPECT_EQ(crowding.busy(0), 0.5);
}

// The port in has a quarter of the bandwidth.
TEST_F(CrowdingOfRings, goes_by_the_fullest_link) {
  Worker worker = worker_on(0);
  const Wire& wire = wiring_.wires[0][worker.peers(worker.current().send_group)[0]];
  ASSERT_GE(wire.resources.size(), 2U);
  wiring_.capacities[wire.resources.back()] = gigabytes_per_second(2.5);
  Crowding crowding(plan_, wiring_, 2);
  EXPECT_DOUBLE_EQ(share_left(crowding, worker), 1 / 1.25) << "four times what it carries";
}

/// A ring of three on one channel, wired by hand.
class Mixing : public testing::Test {
 protected:
  Mixing() {
    cost_.mixing = 0.3;
    wiring_.capacities.assign(4, gigabytes_per_second(100));
  }

  /// What a rank finds that sends at so many GB/s.
  double share_left(Crowding& crowding, Rank rank, double rate) {
    Worker& worker = workers_[rank];
    worker.schedule = &plan_.schedule(0);
    worker.program = worker.schedule->program(rank, 0);
    worker.cost = &cost_;
    worker.rank = rank;
    return crowding.join(worker, gigabytes_per_second(rate));
  }

  Plan plan_ = make_plan(Collective::all_reduce, "ring", uniform_placement(3));
  Wiring wiring_;
  ProtocolCost cost_;
  std::array<Worker, 3> workers_;
};

// All three go over link 3 after one of their own. Of 40 GB/s a quarter is the second's.
TEST_F(Mixing, costs_by_what_a_link_carries_for_other_ranks) {
  wiring_.wires = {{Wire{{0, 3}, {}}, Wire{{1, 3}, {}}, Wire{{2, 3}, {}}}};
  Crowding crowding(plan_, wiring_, 3);
  EXPECT_DOUBLE_EQ(share_left(crowding, 0, 30), 1);
  EXPECT_DOUBLE_EQ(share_left(crowding, 1, 10), 1 - 0.3 * 0.75);
  EXPECT_DOUBLE_EQ(share_left(crowding, 2, 40), 1 - 0.3 * 0.5);
  crowding.leave(workers_[0]);
  crowding.leave(workers_[2]);
  crowding.leave(workers_[1]);
  EXPECT_DOUBLE_EQ(share_left(crowding, 1, 10), 1) << "alone again";
}

TEST_F(Mixing, costs_nothing_where_each_has_links_of_its_own) {
  wiring_.wires = {{Wire{{0}, {}}, Wire{{1}, {}}, Wire{{2}, {}}}};
  Crowding crowding(plan_, wiring_, 3);
  EXPECT_DOUBLE_EQ(share_left(crowding, 0, 30), 1);
  EXPECT_DOUBLE_EQ(share_left(crowding, 1, 10), 1);
}

}  // namespace
}  // namespace collsim
