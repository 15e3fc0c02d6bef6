// A ranking is what trying every cable by a whole simulation says: the same order, the same times.
// What it does not simulate lies between its bounds.

#include "tools/collsim/faults/fault_ranking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
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

class RankingOf : public testing::TestWithParam<Case> {
 protected:
  RankingOf()
      : topology_(load_topology(find_data_file(GetParam().topology, "topologies"))),
        compiler_({&topology_, test::default_calibration(), Collective::all_reduce, run(),
                   first_gpus(topology_, GetParam().ranks)}) {}

  static RunSpec run() {
    RunSpec run;
    run.algorithm = GetParam().algorithm;
    return run;
  }

  /// By cable that is used: the whole call's time when it has that share of its bandwidth.
  std::map<LinkId, double> try_all(double share) const {
    const CompiledCall call = compiler_.plan(size_);
    const Wiring& wiring = call.layout->wiring;
    std::map<LinkId, MachineEvents> of_cable;
    for (ResourceId id = 0; id < wiring.origins.size(); ++id) {
      if (wiring.origins[id].shared) continue;
      const LinkId link = wiring.origins[id].id;
      MachineEvents& events = of_cable[std::min(link, topology_.link(link).reverse)];
      events.changes.resize(1);
      events.changes[0].capacities.push_back({id, share * wiring.capacities[id]});
    }
    std::map<LinkId, double> times;
    for (const auto& [cable, events] : of_cable) {
      Execution execution = execution_of(call);
      execution.events = &events;
      const auto fabric = make_fabric(Engine::native);
      times[cable] = execute(execution, *fabric).time.value;
    }
    return times;
  }

  Topology topology_;
  CallCompiler compiler_;
  Bytes size_{GetParam().bytes};
};

constexpr double share = 0.25;

TEST_P(RankingOf, equals_trying_every_cable) {
  const RankingEffort everything{.healthy = 1'000'000'000, .transfers = 100'000'000'000};
  const FaultRanking ranking = rank_links(compiler_.plan(size_), share, everything);
  const std::map<LinkId, double> times = try_all(share);
  const double tolerance = 1e-2;  // of a steady state
  double last = ranking.links.front().time.value;
  for (const RankedLink& ranked : ranking.links) {
    ASSERT_NE(ranked.origin, TimeOrigin::bounds);
    EXPECT_LE(ranked.time.value, last);
    last = ranked.time.value;
    for (const LinkId cable : ranked.links.cables) {
      const double tried = times.at(cable);
      const bool exact = ranked.origin == TimeOrigin::simulated && ranked.links.exact;
      EXPECT_NEAR(ranked.time.value, tried, (exact ? 1e-9 : tolerance) * tried)
          << topology_.link_name(cable) << ' ' << to_string(ranked.origin);
    }
  }
}

TEST_P(RankingOf, bounds_hold_of_every_cable) {
  const RankingEffort healthy_alone{.healthy = 1'000'000'000, .transfers = 0};
  const FaultRanking ranking = rank_links(compiler_.plan(size_), share, healthy_alone);
  const std::map<LinkId, double> times = try_all(share);
  for (const RankedLink& ranked : ranking.links) {
    ASSERT_EQ(ranked.origin, TimeOrigin::bounds);
    for (const LinkId cable : ranked.links.cables) {
      const double tried = times.at(cable);
      // Shared fairly, a machine may gain a little where a cable holds somebody back.
      EXPECT_LE(ranked.time.value, tried * 1.01) << topology_.link_name(cable);
      EXPECT_GE(ranked.at_most.value, tried * 0.99) << topology_.link_name(cable);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Machines, RankingOf,
    testing::Values(Case{"dgx-h100-x4", "ring", 1 << 24, 32},
                    Case{"dgx-h100-x4", "tree", 1 << 24, 32},
                    Case{"dgx-h100-x4", "tree", 1 << 16, 32},
                    Case{"dgx-h100-x4", "hierarchical", 1 << 22, 32},
                    Case{"dgx-h100-x8-4-1-interleaved", "tree", 1 << 20, 64},
                    Case{"dgx-1-v100", "ring", 1 << 24, 8}, Case{"dgx-1-v100", "tree", 1 << 24, 8},
                    Case{"pcie-8", "ring", 1 << 22, 8}, Case{"switch-64", "tree", 1 << 22, 64},
                    Case{"gh200-4-x64", "ring", 1 << 20, 32}, Case{"dgx-h100", "nvls", 1 << 24, 8}),
    [](const auto& test) {
      return test::test_name(std::string(test.param.topology) + "_" + test.param.algorithm + "_" +
                             std::to_string(test.param.bytes));
    });

}  // namespace
}  // namespace collsim
