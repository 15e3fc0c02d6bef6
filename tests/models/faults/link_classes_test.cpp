// Cables of one class cost the same when degraded: every member is tried, and compared with the
// ranking, which tries one.

#include "models/faults/link_classes.h"

#include <gtest/gtest.h>

#include <string>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tests/support/small_calibration.h"
#include "tests/support/test_name.h"
#include "tools/collsim/faults/fault_ranking.h"

namespace collsim {
namespace {

/// Enough to simulate each class of these machines.
constexpr RankingEffort everything{.healthy = 1'000'000'000, .transfers = 10'000'000'000};

struct Case {
  const char* topology;
  const char* algorithm;
  std::int64_t bytes;
};

class LinkClasses : public testing::TestWithParam<Case> {};

TEST_P(LinkClasses, members_are_worth_the_same) {
  const Topology topology = load_topology(find_data_file(GetParam().topology, "topologies"));
  const Calibration cost = test::default_calibration();
  RunSpec run;
  run.algorithm = GetParam().algorithm;
  const auto ranks = static_cast<Rank>(topology.gpus().size());
  const Bytes size{GetParam().bytes};
  const CallCompiler compiler(
      {&topology, cost, Collective::all_reduce, run, first_gpus(topology, ranks)});
  const CompiledCall call = compiler.plan(size);
  const FaultRanking ranking = rank_links(call, 0.3, everything);
  const Wiring& wiring = call.layout->wiring;
  std::size_t tried = 0;
  for (const RankedLink& ranked : ranking.links) {
    ASSERT_EQ(ranked.origin, TimeOrigin::simulated);
    for (const LinkId cable : ranked.links.cables) {
      MachineEvents events;
      MachineChange& change = events.changes.emplace_back();
      for (ResourceId id = 0; id < wiring.origins.size(); ++id) {
        const ResourceOrigin& origin = wiring.origins[id];
        if (origin.shared || (origin.id != cable && topology.link(cable).reverse != origin.id)) {
          continue;
        }
        change.capacities.push_back({id, 0.3 * wiring.capacities[id]});
      }
      Execution execution = execution_of(call);
      execution.events = &events;
      const auto fabric = make_fabric(Engine::native);
      const double time = execute(execution, *fabric).time.value;
      EXPECT_NEAR(time, ranked.time.value, 1e-9 * time) << topology.link_name(cable);
      ++tried;
    }
  }
  EXPECT_EQ(tried + ranking.idle_cables, topology.links().size() / 2);
  EXPECT_LT(ranking.links.size(), tried);  // there was something to save
}

INSTANTIATE_TEST_SUITE_P(
    Machines, LinkClasses,
    testing::Values(Case{"dgx-h100-x4", "ring", 1 << 22}, Case{"dgx-h100-x4", "tree", 1 << 20},
                    Case{"dgx-h100-x4", "hierarchical", 1 << 20},
                    Case{"dgx-1-v100", "ring", 1 << 22}, Case{"dgx-a100-x4", "ring", 1 << 22},
                    Case{"switch-8", "recursive_halving_doubling", 1 << 20}),
    [](const auto& test) {
      return test::test_name(std::string(test.param.topology) + "_" + test.param.algorithm);
    });

// A ring on one switch: every port is the same.
TEST(LinkClassesOfARing, are_one_class) {
  const Topology topology = load_topology(find_data_file("switch-8", "topologies"));
  const Calibration cost = calibration_for(topology);
  RunSpec run;
  run.algorithm = "ring";
  const CallCompiler compiler(
      {&topology, cost, Collective::all_reduce, run, first_gpus(topology, 8)});
  const FaultRanking ranking = rank_links(compiler.plan(Bytes{8'000'000}), 0.1, {});
  ASSERT_EQ(ranking.links.size(), 1U);
  EXPECT_EQ(ranking.links[0].links.cables.size(), 8U);
  EXPECT_EQ(ranking.idle_cables, 0U);
}

// What is too much to simulate is compared by bounds: a port that works all the time (14 of 14
// parts of 1 MB) is ten times slower; latency aside, which is in neither.
TEST(LinkClassesOfARing, without_simulation_there_are_bounds) {
  const Topology topology = load_topology(find_data_file("switch-8", "topologies"));
  const Calibration cost = calibration_for(topology);
  RunSpec run;
  run.algorithm = "ring";
  const CallCompiler compiler(
      {&topology, cost, Collective::all_reduce, run, first_gpus(topology, 8)});
  const FaultRanking ranking =
      rank_links(compiler.plan(Bytes{8'000'000}), 0.1, {.healthy = 0, .transfers = 0});
  EXPECT_EQ(ranking.healthy.transfers, 0U);
  ASSERT_EQ(ranking.links.size(), 1U);
  EXPECT_EQ(ranking.links[0].origin, TimeOrigin::bounds);
  EXPECT_NEAR(ranking.links[0].slowdown, 10, 1e-9);
}

}  // namespace
}  // namespace collsim
