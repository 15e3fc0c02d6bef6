// The executor runs NCCL's plans with NCCL's cut to their end, whatever the sizes.

#include <gtest/gtest.h>

#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/native_fabric.h"
#include "sim/nccl/nccl_plan.h"
#include "sim/nccl/nccl_point_to_point.h"
#include "tests/support/machines.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

ExecutionResult run(const Plan& plan, const NcclCall& call) {
  const Wiring wiring = test::private_wiring(plan, gigabytes_per_second(10), microseconds(1));
  const DataPartition partition = DataPartition::nccl(plan, call);
  const Calibration cost;
  NativeFabric fabric;
  return execute({plan, partition, wiring, cost, call.protocol}, fabric);
}

// A message per primitive that sends, slice and loop, whatever the slices' sizes.
TEST(ExecutorNcclPlans, all_end) {
  for (const std::int64_t size : {0LL, 4LL, 1000LL, 5000000LL, 100000000LL}) {
    for (const Rank ranks : {1U, 2U, 3U, 8U}) {
      const NcclChannels channels = test::random_channels(ranks, 2, ranks);
      for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
        for (const NcclAlgorithm algorithm : {NcclAlgorithm::ring, NcclAlgorithm::tree}) {
          const Plan plan = make_nccl_plan(Collective::all_reduce, algorithm, channels, 2);
          const auto result =
              run(plan, {.size = {size}, .algorithm = algorithm, .protocol = protocol});
          EXPECT_EQ(result.transfers > 0, size > 0 && ranks > 1);
        }
      }
      const Plan exchange = make_nccl_point_to_point_plan(Collective::all_to_all,
                                                          uniform_placement(ranks, ranks), 4, 2);
      EXPECT_EQ(run(exchange, {.size = {size}}).transfers > 0,
                size >= std::int64_t{4} * ranks && ranks > 1);
    }
  }
}

// 4 ranks, 8 MiB, one channel: chunks of 2 MiB in 2 slices of 1 MiB over links of their own at 10
// GB/s: o = 104.8576 us, alpha 1 us. A slice leaves when the one before has left and what it
// forwards has come; a chunk's second slice leaves while the first arrives, so that the link never
// rests: the last slice of the last of 6 messages arrives after 12 o + alpha, where a step's first
// slice (alpha after it left) is there long before its turn.
TEST(ExecutorNcclPlans, two_slices_keep_a_ring_busy) {
  const Plan plan =
      make_nccl_plan(Collective::all_reduce, NcclAlgorithm::ring, test::one_node_channels(4, 1), 1);
  const ExecutionResult result = run(plan, {.size = {8 << 20}});
  EXPECT_EQ(result.transfers, 4U * 6U * 2U);
  EXPECT_NEAR(in_microseconds(result.time), 12 * 104.8576 + 1, 1e-6);
}

}  // namespace
}  // namespace collsim
