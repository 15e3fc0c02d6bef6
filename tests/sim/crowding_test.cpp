// What thread blocks that are sending leave to those that join them.

#include "sim/crowding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/algorithms/registry.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// A ring of two on two channels; both ranks' first primitive sends.
class CrowdingOfRings : public testing::Test {
 protected:
  CrowdingOfRings() { cost_.crowding = 1; }

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
    worker.sending = gigabytes_per_second(10);
    return worker;
  }
  /// Where so many thread blocks of 10 GB/s are on a link of 10 GB/s.
  static double share_among(double thread_blocks) {
    return std::pow(1 + std::pow(thread_blocks, 2.5), -0.4);
  }

  Plan plan_ = ring_on_two_channels();
  Wiring wiring_ = test::switch_wiring(plan_, gigabytes_per_second(10), {});
  ProtocolCost cost_;
};

// Both channels of a rank leave by its port; the other rank has another.
TEST_F(CrowdingOfRings, counts_those_who_are_sending) {
  Crowding crowding(wiring_);
  EXPECT_DOUBLE_EQ(crowding.join(worker_on(0)), share_among(1));
  EXPECT_DOUBLE_EQ(crowding.join(worker_on(1)), share_among(2));
  EXPECT_DOUBLE_EQ(crowding.join(worker_on(0, 1)), share_among(1));
  crowding.leave(worker_on(0));
  crowding.leave(worker_on(1));
  EXPECT_DOUBLE_EQ(crowding.join(worker_on(1)), share_among(1));
}

TEST_F(CrowdingOfRings, counts_parts_of_thread_blocks) {
  Crowding crowding(wiring_);
  Worker half = worker_on(0);
  half.sending = gigabytes_per_second(5);
  EXPECT_DOUBLE_EQ(crowding.join(half), share_among(0.5));
}

// The port in has a quarter of the bandwidth.
TEST_F(CrowdingOfRings, goes_by_the_fullest_link) {
  const Wire& wire = wiring_.wires[0][worker_on(0).peers(worker_on(0).current().send_group)[0]];
  ASSERT_GE(wire.resources.size(), 2U);
  wiring_.capacities[wire.resources.back()] = gigabytes_per_second(2.5);
  Crowding crowding(wiring_);
  EXPECT_DOUBLE_EQ(crowding.join(worker_on(0)), share_among(4));
}

}  // namespace
}  // namespace collsim
