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
    worker.begin_program(worker.schedule->program(rank, 0));
    worker.setting.cost = &cost_;
    worker.channel = channel;
    worker.rank = rank;
    return worker;
  }
  /// What a worker that sends at 10 GB/s finds.
  static double share_left(LinkContention& contention, Worker& worker) {
    contention.join(worker, gigabytes_per_second(10));
    return contention.share(worker);
  }

  Plan plan_ = ring_on_two_channels();
  Wiring wiring_ = test::switch_wiring(plan_, gigabytes_per_second(10), {});
  ProtocolConstants cost_;
};

// Both channels of a rank leave by its port of 10 GB/s; the other rank has another. With half lost
// where the link could just be filled, the share is 1 / (1 + x) and x the demand, or its inverse.
TEST_F(LinkContentionOfRings, counts_those_who_are_sending) {
  LinkContention contention(wiring_);
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
  LinkContention contention(wiring_);
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
  LinkContention contention(wiring_);
  Worker worker = worker_on(0);
  const Schedule& schedule = plan_.schedule(0);
  const Program program = schedule.program(0, 0);
  const Schedule shorter = schedule.with_program(0, 0, {program[0], program[1]});
  worker.begin_program(shorter.program(0, 0));
  worker.loop = 4;
  EXPECT_DOUBLE_EQ(share_left(contention, worker), 1 - 0.5 / 3);
}

// Of a lane only what it gets while all lanes send.
TEST_F(LinkContentionOfRings, counts_parts_of_thread_blocks) {
  LinkContention contention(wiring_);
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
  LinkContention contention(wiring_);
  EXPECT_DOUBLE_EQ(share_left(contention, worker), 1 / 1.25) << "four times what it carries";
}

}  // namespace
}  // namespace collsim
