// Sends and receives: what their thread blocks share.

#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/native_fabric.h"
#include "sim/nccl/nccl_point_to_point.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

/// Both of two ranks send the other two chunks of 20,480 bytes on one of the channels, on links of
/// 10 GB/s and 1 us.
double microseconds_of_exchange(const Calibration& cost) {
  const Plan plan =
      make_nccl_point_to_point_plan(Collective::send_recv, uniform_placement(2), 1, 1);
  NcclCall call;
  call.size = 2 * Bytes{20480};
  call.buffers.point_to_point_chunk = Bytes{20480};
  const DataPartition partition = DataPartition::nccl(plan, call);
  const Wiring wiring = test::private_wiring(plan, gigabytes_per_second(10), microseconds(1));
  NativeFabric fabric;
  return in_microseconds(
      execute({plan, partition, wiring, cost, Protocol::simple, 20}, fabric).time);
}

ProtocolConstants& simple(Calibration& cost) {
  return cost.protocols[static_cast<std::size_t>(Protocol::simple)];
}

// Chunks leave at 2.048 and 4.096 us and are there a microsecond later.
TEST(ExecutorMessages, links_alone) {
  EXPECT_DOUBLE_EQ(microseconds_of_exchange({}), 5.096);
}

// 4 GB/s for sends and stores together; alone, a chunk takes 5.12 us. Chunk 1 leaves 0..5.12 and is
// there at 6.12, when 4,000 bytes of chunk 2 have left. From then on both go at 2 GB/s: the other
// 16,480 bytes have left at 14.36, when 4,000 of chunk 1 are still to be stored, at 4 GB/s until
// 15.36. Then chunk 2 is there, and is stored at 20.48. The share of warps limits nothing.
TEST(ExecutorMessages, sends_and_stores_share_the_thread_block) {
  Calibration cost;
  simple(cost).write = gigabytes_per_second(4);
  EXPECT_NEAR(microseconds_of_exchange(cost.of_messages()), 20.48, 1e-9);
}

TEST(ExecutorMessages, have_a_setup_of_their_own) {
  Calibration cost;
  simple(cost).setup = microseconds(5);
  EXPECT_DOUBLE_EQ(microseconds_of_exchange(cost.of_messages()), 10.096);
  cost.message_setup = microseconds(2);
  EXPECT_DOUBLE_EQ(microseconds_of_exchange(cost.of_messages()), 7.096);
}

}  // namespace
}  // namespace collsim
