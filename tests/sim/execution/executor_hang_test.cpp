// Which rank a call that hangs names, and what it says of it.

#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"
#include "sim/execution/executor.h"
#include "sim/fabric/native_fabric.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// A ring of two, each connection with a link of its own, 10,000 bytes a hop.
class ExecutorHang : public testing::Test {
 protected:
  /// What is said when these links move nothing from that time on.
  std::string error_of(Seconds at, const std::vector<ResourceId>& dead) {
    MachineChange change{at};
    for (const ResourceId link : dead) change.capacities.push_back({link, {0}});
    const MachineEvents events{{change}};
    const DataPartition partition(plan_, {20000}, Bytes{4}, {});
    const Wiring wiring = test::private_wiring(plan_, gigabytes_per_second(10), microseconds(1));
    NativeFabric fabric;
    try {
      execute({plan_, partition, wiring, cost_, Protocol::simple, 0, 1, &events}, fabric);
    } catch (const HangError& error) {
      EXPECT_EQ(error.channel(), 0U);
      return error.what();
    }
    return "";
  }
  /// The connection's own link.
  ResourceId link_from(Rank rank) const {
    const auto connections = plan_.schedule(0).connections();
    return connections[0].src == rank ? 0 : 1;
  }

  Plan plan_ = make_plan(Collective::all_reduce, "ring", uniform_placement(2));
  Calibration cost_;
};

TEST_F(ExecutorHang, names_the_rank_whose_bytes_stand_still) {
  EXPECT_EQ(error_of({}, {link_from(1)}),
            "hangs at step 1 of 3 of rank 1 (channel 0), waiting for its bytes to reach rank 0; "
            "2 of 2 programs never end");
}

// The first hop is over at 2 us, the second at 4: rank 1's second bytes are on their way, and rank
// 0 waits for them.
TEST_F(ExecutorHang, says_at_which_step) {
  EXPECT_EQ(error_of(microseconds(2.5), {link_from(1)}),
            "hangs at step 2 of 3 of rank 1 (channel 0), waiting for its bytes to reach rank 0; "
            "2 of 2 programs never end");
}

TEST_F(ExecutorHang, is_none_where_all_is_over_before) {
  EXPECT_EQ(error_of(microseconds(9), {link_from(0), link_from(1)}), "");
}

}  // namespace
}  // namespace collsim
