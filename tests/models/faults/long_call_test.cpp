// The steady state of a long call, continued, is the whole call, to a per cent: a ring's hops
// between nodes are not spread evenly over it.

#include "models/faults/long_call.h"

#include <gtest/gtest.h>

#include <string>

#include "models/prediction/prediction.h"
#include "models/prediction/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/fabric/native_fabric.h"
#include "sim/topologies/loader.h"
#include "tests/support/small_calibration.h"
#include "tests/support/test_name.h"

namespace collsim {
namespace {

struct Case {
  const char* topology;
  const char* algorithm;
  std::int64_t bytes;
  Rank ranks;
};

class LongCalls : public testing::TestWithParam<Case> {};

constexpr std::uint64_t no_limit = 1'000'000'000'000;

TEST_P(LongCalls, continued_is_the_whole_call) {
  const Topology topology = load_topology(find_data_file(GetParam().topology, "topologies"));
  RunSpec run;
  run.algorithm = GetParam().algorithm;
  const Planner planner({&topology, test::default_calibration(), Collective::all_reduce, run,
                         first_gpus(topology, GetParam().ranks)});
  const CallPlan call = planner.plan(Bytes{GetParam().bytes});
  const Execution execution = execution_of(call);
  const LongCall long_call(execution);
  int steady = 0;
  // The healthy machine, and one whose first resource has a fifth left.
  Disturbance degraded;
  degraded.changes.resize(1);
  degraded.changes[0].capacities.push_back({0, 0.2 * call.layout->wiring.capacities[0]});
  for (const Disturbance& disturbance : {Disturbance{}, degraded}) {
    const auto found = long_call.time(disturbance, no_limit);
    ASSERT_TRUE(found.has_value());
    steady += found->whole ? 0 : 1;
    Execution whole = execution;
    whole.disturbance = &disturbance;
    NativeFabric fabric;
    const double time = execute(whole, fabric).time.value;
    EXPECT_NEAR(found->time.value, time, 0.01 * time);
  }
  EXPECT_GE(steady, 1);  // there was something to save
}

INSTANTIATE_TEST_SUITE_P(Calls, LongCalls,
                         testing::Values(Case{"dgx-h100-x64", "ring", 1 << 24, 160},
                                         Case{"dgx-h100-x4", "tree", std::int64_t{1} << 33, 32},
                                         Case{"hgx-h200", "tree", std::int64_t{1} << 33, 8}),
                         [](const auto& test) {
                           return test::test_name(std::string(test.param.topology) + "_" +
                                                  test.param.algorithm);
                         });

// Four messages of a two-rank ring are no stream: simulated whole, unless that is too much.
TEST(ShortCall, is_simulated_whole_or_not_at_all) {
  const Topology topology = load_topology(find_data_file("switch-8", "topologies"));
  RunSpec run;
  run.algorithm = "ring";
  run.channels = 1;
  run.chunking = Chunking{};
  const Planner planner({&topology, test::default_calibration(), Collective::all_reduce, run,
                         first_gpus(topology, 2)});
  const CallPlan call = planner.plan(Bytes{1 << 20});
  const Execution execution = execution_of(call);
  const LongCall long_call(execution);
  ASSERT_EQ(long_call.transfers(), 4U);
  const auto found = long_call.time({}, 4);
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(found->whole);
  EXPECT_EQ(found->messages, 4U);
  EXPECT_FALSE(long_call.time({}, 3).has_value());
}

}  // namespace
}  // namespace collsim
