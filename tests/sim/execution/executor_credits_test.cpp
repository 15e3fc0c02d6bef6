// Every plan ends where its FIFOs have room for two chunks; a ring with less waits for itself.

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "models/bounds/critical_path.h"
#include "sim/algorithms/registry.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/executor.h"
#include "sim/fabric/native_fabric.h"
#include "sim/nccl/nccl_plan.h"
#include "tests/support/machines.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

TEST(ExecutorCredits, every_algorithm_ends_at_every_depth) {
  for (const std::string& name : algorithm_names(Collective::all_reduce)) {
    for (const Rank ranks : {1U, 2U, 4U, 6U, 8U}) {
      const Placement placement = uniform_placement(ranks, 2);
      if (why_unsupported(Collective::all_reduce, name, placement)) continue;
      const Plan plan = make_plan(Collective::all_reduce, name, placement, 2);
      const Wiring wiring = test::switch_wiring(plan, gigabytes_per_second(10), microseconds(1));
      for (const std::uint32_t credits : {8U, 4U, 3U, 2U}) {
        const Chunking chunking{.largest_chunk = {400}, .slices = credits / 2, .credits = credits};
        const DataPartition partition(plan, 1009 * Bytes{4}, Bytes{4}, chunking);
        const Calibration cost;
        NativeFabric fabric;
        Timeline timeline;
        const double time =
            execute({plan, partition, wiring, cost, Protocol::simple}, fabric, &timeline)
                .time.value;
        // Whatever a program waited for, the path back to the beginning has no gap.
        EXPECT_NEAR(critical_path(timeline, cost.launch).total().value, time, 1e-12)
            << name << " on " << ranks << ", " << credits;
      }
    }
  }
}

// Every rank has sent one chunk and holds its FIFO's only slot until it can send on: into a FIFO
// that is as full.
TEST(ExecutorCredits, a_ring_with_one_credit_is_reported_as_a_deadlock) {
  const Plan plan = make_plan(Collective::all_reduce, "ring", uniform_placement(3));
  const Wiring wiring = test::switch_wiring(plan, gigabytes_per_second(10), microseconds(1));
  const DataPartition partition(plan, Bytes{1200}, Bytes{4}, {.credits = 1});
  const Calibration cost;
  NativeFabric fabric;
  EXPECT_THROW(execute({plan, partition, wiring, cost, Protocol::simple}, fabric),
               std::logic_error);
}

// NCCL broadcasts 16 MiB from one rank to another as 32 slices of 512 KiB. Each is 52.4288 us on a
// link of 10 GB/s and makes room 1,000 us after that. A buffer holds 8. Between GPUs 8 slices leave
// every 1,052.4288 us: the last, the eighth of the fourth group, leaves after 3 of these and 7
// slices. A network has a buffer at each end: the last is the 16th of the second group.
TEST(ExecutorCredits, a_network_has_a_buffer_at_each_end) {
  const auto channels = test::one_node_channels(2, 1);
  const Plan plan = make_nccl_plan(Collective::broadcast, NcclAlgorithm::ring, channels, 1);
  const NcclCall call{
      .size = {16 << 20}, .algorithm = NcclAlgorithm::ring, .protocol = Protocol::simple};
  const DataPartition partition = DataPartition::nccl(plan, call);
  Wiring wiring = test::switch_wiring(plan, gigabytes_per_second(10), microseconds(1000));
  const auto time_over = [&](LinkKind kind) {
    for (Wire& wire : wiring.wires.front()) wire.kind = kind;
    const Calibration cost;
    NativeFabric fabric;
    return execute({plan, partition, wiring, cost, Protocol::simple}, fabric).time.value * 1e6;
  };
  EXPECT_NEAR(time_over(LinkKind::nvlink), 4 * 1052.4288 + 7 * 52.4288, 1e-3);
  EXPECT_NEAR(time_over(LinkKind::network), 2 * 1052.4288 + 15 * 52.4288, 1e-3);
}

}  // namespace
}  // namespace collsim
