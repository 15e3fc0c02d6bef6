// What the buffers hold in the end is what the collective promises.

#include "tools/collsim/trace/stored_sums.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "models/calibration/transport.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

struct Case {
  std::string_view machine;
  Collective collective;
  std::string_view algorithm;
  std::int64_t size;
};

class StoredSums : public testing::TestWithParam<Case> {};

TEST_P(StoredSums, end_as_the_collective_promises) {
  const Case& each = GetParam();
  const Topology topology = load_topology(find_data_file(each.machine, "topologies"));
  RunSpec run;
  run.algorithm = each.algorithm;
  const CallCompiler compiler({&topology,
                               calibration_for(topology),
                               each.collective,
                               run,
                               {topology.gpus().begin(), topology.gpus().end()}});
  const CallTrace trace = trace_call(compiler.plan(Bytes{each.size}), 1e6);
  const Plan& plan = trace.call.plan();
  using Place = std::array<std::uint32_t, 5>;  // channel, rank, loop, slice, chunk
  std::map<Place, Contributions> last;
  for (const StoredSum& stored : stored_sums(trace)) {
    const TimelineRecord& record = trace.timeline.records[stored.record];
    last[{record.channel, record.rank, record.loop, record.slice, stored.chunk}] = stored.sum;
  }
  ASSERT_FALSE(last.empty());
  for (const auto& [place, sum] : last) {
    const Schedule& schedule = plan.schedule(place[0]);
    if (schedule.is_agent(place[1])) continue;
    const Contributions due = sum_after(plan, schedule, place[1], place[4]);
    if (due.bits == 0) continue;
    EXPECT_EQ(sum, due) << "channel " << place[0] << ", rank " << place[1];
  }
}

INSTANTIATE_TEST_SUITE_P(
    OfCalls, StoredSums,
    testing::Values(Case{"switch-8", Collective::all_reduce, "ring", 1 << 16},
                    Case{"switch-8", Collective::all_reduce, "recursive_halving_doubling", 1 << 16},
                    Case{"hgx-h200", Collective::all_reduce, "ring", 1 << 20},
                    Case{"hgx-h200", Collective::all_reduce, "tree", 1 << 20},
                    Case{"hgx-h200", Collective::all_reduce, "nvls", 1 << 20},
                    Case{"hgx-h200", Collective::all_gather, "ring", 1 << 20},
                    Case{"hgx-h200", Collective::reduce_scatter, "ring", 1 << 20},
                    Case{"hgx-h200", Collective::broadcast, "ring", 1 << 20},
                    Case{"hgx-h200", Collective::all_to_all, "", 1 << 20},
                    Case{"dgx-h100-x4", Collective::all_reduce, "nvls_tree", 1 << 20}));

}  // namespace
}  // namespace collsim
