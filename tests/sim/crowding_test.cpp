// How many thread blocks send through a link, and what it costs them.

#include "sim/crowding.h"

#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// A ring of two on two channels, each rank with a port out and a port in.
class Crowding : public testing::Test {
 protected:
  Crowding() { plan_.schedule_of_channel = {0, 0}; }

  Plan plan_ = make_plan(Collective::all_reduce, "ring", uniform_placement(2));
};

// Rank 0's port out has its thread blocks of both channels, and rank 1's port in the same ones.
TEST_F(Crowding, counts_a_thread_block_of_each_channel) {
  const Wiring wiring = test::switch_wiring(plan_, gigabytes_per_second(10), {});
  const Binding binding(plan_, {40000}, Bytes{4}, {});
  for (const std::uint32_t senders : count_senders(plan_, binding, wiring)) EXPECT_EQ(senders, 2U);
  const Binding empty(plan_, {0}, Bytes{4}, {});
  for (const std::uint32_t senders : count_senders(plan_, empty, wiring)) EXPECT_EQ(senders, 0U);
}

// Thread blocks of 10 GB/s: one fills a link of 10 GB/s, and where its rank has a link of 20 GB/s
// it is an eighth of that.
TEST_F(Crowding, takes_the_most_crowded_link) {
  ThreadBlockCosts costs;
  costs[0].channel = gigabytes_per_second(10);
  costs[0].crowding = 0.08;
  const Schedule& schedule = plan_.schedule(0);
  ASSERT_EQ(schedule.connections().size(), 2U);
  std::vector<Wire> wires(2);
  const Rank first = schedule.connections()[0].src;
  wires[0].resources = {0, 1};
  wires[1].resources = {0};
  const std::vector<double> shares =
      crowded_shares(schedule, wires, {gigabytes_per_second(20), gigabytes_per_second(10)}, {1, 1},
                     {LinkKind::nvlink, LinkKind::nvlink}, costs);
  EXPECT_DOUBLE_EQ(shares[first], 0.92);
  EXPECT_DOUBLE_EQ(shares[1 - first], 0.99);
}

}  // namespace
}  // namespace collsim
