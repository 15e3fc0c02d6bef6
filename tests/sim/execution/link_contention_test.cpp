// How thread blocks that send slow each other down on links.

#include "sim/execution/link_contention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <span>

#include "sim/algorithms/registry.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// A ring of two on two channels; both ranks' first primitive sends.
class LinkContentionOfRings : public testing::Test {
 protected:
  LinkContentionOfRings() { cost_.corrections.link_contention = 0.5; }

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
  static double share_left(LinkContention& contention, Worker& worker) {
    return contention.join(worker, gigabytes_per_second(10));
  }

  Plan plan_ = ring_on_two_channels();
  Wiring wiring_ = test::switch_wiring(plan_, gigabytes_per_second(10), {});
  ProtocolCost cost_;
};

// Both channels of a rank leave by its port of 10 GB/s; the other rank has another. With half lost
// where the link could just be filled, the share is 1 / (1 + x) and x the demand, or its inverse.
TEST_F(LinkContentionOfRings, counts_those_who_are_sending) {
  LinkContention contention(plan_, wiring_);
  Worker first = worker_on(0);
  Worker second = worker_on(1);
  Worker of_the_other_rank = worker_on(0, 1);
  EXPECT_DOUBLE_EQ(share_left(contention, first), 1 / 2.0);
  EXPECT_DOUBLE_EQ(share_left(contention, second), 1 / 1.5);
  EXPECT_DOUBLE_EQ(share_left(contention, of_the_other_rank), 1 / 2.0);
  contention.leave(first);
  contention.leave(second);
  EXPECT_DOUBLE_EQ(share_left(contention, second), 1 / 2.0);
}

// The port of 10 GB/s could be filled twice over by two that send at 10 each.
TEST_F(LinkContentionOfRings, tells_how_many_times_over_a_link_could_be_filled) {
  LinkContention contention(plan_, wiring_);
  Worker first = worker_on(0);
  Worker second = worker_on(1);
  EXPECT_EQ(contention.overfill(first), 1) << "it does not send";
  share_left(contention, first);
  EXPECT_DOUBLE_EQ(contention.overfill(first), 1);
  share_left(contention, second);
  EXPECT_DOUBLE_EQ(contention.overfill(first), 2);
  contention.leave(second);
  EXPECT_DOUBLE_EQ(contention.overfill(first), 1) << "no link makes it faster";
}

// After four loops of a program of two primitives 1 / sqrt(1 + 8) of a half are lost at most.
TEST_F(LinkContentionOfRings, fades_with_the_steps_of_a_call) {
  LinkContention contention(plan_, wiring_);
  Worker worker = worker_on(0);
  worker.program = worker.program.first(2);
  worker.loop = 4;
  EXPECT_DOUBLE_EQ(share_left(contention, worker), 1 - 0.5 / 3);
}

// Of a lane only what it gets while all lanes send.
TEST_F(LinkContentionOfRings, counts_parts_of_thread_blocks) {
  LinkContention contention(plan_, wiring_);
  Worker half = worker_on(0);
  half.part = gigabytes_per_second(5);
  EXPECT_DOUBLE_EQ(share_left(contention, half), 1 / 1.5);
}

// The port in has a quarter of the bandwidth.
TEST_F(LinkContentionOfRings, goes_by_the_fullest_link) {
  Worker worker = worker_on(0);
  const Wire& wire = wiring_.wires[0][worker.peers(worker.current().send_group)[0]];
  ASSERT_GE(wire.resources.size(), 2U);
  wiring_.capacities[wire.resources.back()] = gigabytes_per_second(2.5);
  LinkContention contention(plan_, wiring_);
  EXPECT_DOUBLE_EQ(share_left(contention, worker), 1 / 1.25) << "four times what it carries";
}

/// All to all of three on one channel, by a switch: rank r sends over link r, receives over 3 + r.
class HeadOfLineBlocking : public testing::Test {
 protected:
  HeadOfLineBlocking() {
    cost_.corrections.hol_blocking = 0.5;
    wiring_.capacities.assign(6, gigabytes_per_second(40));
    wiring_.wires.resize(1);
    for (const Connection& connection : plan_.schedule(0).connections()) {
      wiring_.wires[0].push_back(Wire{{connection.src, 3 + connection.dst}, {}});
    }
  }

  /// What rank `source` finds that sends so many GB/s to `destination`.
  double share_left(LinkContention& contention, Rank source, Rank destination, double rate) {
    const Schedule& schedule = plan_.schedule(0);
    workers_.emplace_back();
    Worker& worker = workers_.back();
    worker.schedule = &schedule;
    worker.cost = &cost_;
    worker.rank = source;
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      for (const Primitive& primitive : schedule.program(source, lane)) {
        if (!sends(primitive.kind)) continue;
        const ConnectionId peer = schedule.peers(primitive.send_group)[0];
        if (schedule.connections()[peer].dst != destination) continue;
        worker.program = std::span(&primitive, 1);
        return contention.join(worker, gigabytes_per_second(rate));
      }
    }
    ADD_FAILURE() << source << " sends nothing to " << destination;
    return 0;
  }

  Plan plan_ = make_plan(Collective::all_to_all, "direct", uniform_placement(3));
  Wiring wiring_;
  ProtocolCost cost_;
  std::deque<Worker> workers_;
};

// Rank 0 has 30 GB/s for 1 and 10 for 2, which gets 20 from 1 as well: of what 0 sends, three
// quarters are not for 2, and of what 2 receives, two thirds are not 0's. Half of their geometric
// mean is lost of the link of 40 GB/s, which rank 0 could fill.
TEST_F(HeadOfLineBlocking, costs_where_a_rank_sends_to_several_and_its_peer_receives_from_several) {
  LinkContention contention(plan_, wiring_);
  EXPECT_DOUBLE_EQ(share_left(contention, 0, 1, 30), 1);
  EXPECT_DOUBLE_EQ(share_left(contention, 1, 2, 20), 1);
  EXPECT_DOUBLE_EQ(share_left(contention, 0, 2, 10), 1 - 0.5 * std::sqrt(3.0 / 4 * 2 / 3));
}

// The same on links of 50 GB/s: rank 0 can use 40 of them, and gets 50 x 0.65.
TEST_F(HeadOfLineBlocking, costs_only_what_thread_blocks_could_have_used) {
  wiring_.capacities.assign(6, gigabytes_per_second(50));
  LinkContention contention(plan_, wiring_);
  EXPECT_DOUBLE_EQ(share_left(contention, 0, 1, 30), 1);
  EXPECT_DOUBLE_EQ(share_left(contention, 1, 2, 20), 1);
  EXPECT_DOUBLE_EQ(share_left(contention, 0, 2, 10), 50 * (1 - std::sqrt(0.125)) / 40);
  wiring_.capacities.assign(6, gigabytes_per_second(70));
  LinkContention idle(plan_, wiring_);
  EXPECT_DOUBLE_EQ(share_left(idle, 0, 1, 30), 1);
  EXPECT_DOUBLE_EQ(share_left(idle, 1, 2, 20), 1);
  EXPECT_DOUBLE_EQ(share_left(idle, 0, 2, 10), 1) << "45.3 GB/s are more than 40";
}

TEST_F(HeadOfLineBlocking, costs_nothing_where_several_send_to_one) {
  LinkContention contention(plan_, wiring_);
  EXPECT_DOUBLE_EQ(share_left(contention, 0, 2, 30), 1);
  EXPECT_DOUBLE_EQ(share_left(contention, 1, 2, 30), 1);
}

TEST_F(HeadOfLineBlocking, costs_nothing_where_one_sends_to_several) {
  LinkContention contention(plan_, wiring_);
  EXPECT_DOUBLE_EQ(share_left(contention, 0, 1, 30), 1);
  EXPECT_DOUBLE_EQ(share_left(contention, 0, 2, 30), 1);
}

TEST_F(HeadOfLineBlocking, ends_with_those_who_leave) {
  LinkContention contention(plan_, wiring_);
  share_left(contention, 0, 1, 30);
  share_left(contention, 1, 2, 20);
  for (const Worker& worker : workers_) contention.leave(worker);
  EXPECT_DOUBLE_EQ(share_left(contention, 0, 2, 10), 1);
}

}  // namespace
}  // namespace collsim
