// Every plan ends at every credit depth: the executor keeps the promise that check() proves.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/critical_path.h"
#include "sim/algorithms/registry.h"
#include "sim/binding.h"
#include "sim/executor.h"
#include "sim/native_fabric.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

TEST(ExecutorCredits, every_algorithm_ends_at_every_depth) {
  for (const std::string& name : algorithm_names(Collective::all_reduce)) {
    for (const Rank ranks : {1U, 2U, 4U, 6U, 8U}) {
      const Placement placement = uniform_placement(ranks, 2);
      if (why_unsupported(Collective::all_reduce, name, placement)) continue;
      const Plan plan = make_plan(Collective::all_reduce, name, placement, 2);
      const Wiring wiring = test::switch_wiring(plan, gigabytes_per_second(10), microseconds(1));
      for (const std::uint32_t credits : {8U, 3U, 2U, 1U}) {
        const Chunking chunking{
            .largest_chunk = {400}, .slices = std::min(credits, 2U), .credits = credits};
        const Binding binding(plan, Bytes{4 * 1009}, Bytes{4}, chunking);
        const TransferCost cost;
        NativeFabric fabric;
        Timeline timeline;
        const double time =
            execute({plan, binding, wiring, cost, Protocol::simple}, fabric, &timeline).time.value;
        // Whatever a program waited for, the path back to the beginning has no gap.
        EXPECT_NEAR(critical_path(timeline, cost.launch).total().value, time, 1e-12)
            << name << " on " << ranks << ", " << credits;
      }
    }
  }
}

}  // namespace
}  // namespace collsim
