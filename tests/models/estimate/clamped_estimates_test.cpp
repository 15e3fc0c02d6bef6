// Estimates that come out below a bound, over the shipped machines: formulas are near, and the
// bound counts in their place (docs/design.md says how often).

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <map>
#include <vector>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

namespace fs = std::filesystem;

struct Count {
  int all = 0;
  int clamped = 0;
};

void count_on(const fs::path& file, Count& count) {
  constexpr std::array<std::int64_t, 4> sizes{8, 64 << 10, 16 << 20, 1 << 30};
  const Topology topology = load_topology(file);
  // Whole nodes, of machines whose nodes are alike.
  std::map<std::int32_t, Rank> of_node;
  for (const DeviceId gpu : topology.gpus()) ++of_node[topology.node_of(gpu)];
  const Rank per_node = of_node.begin()->second;
  const Rank all = per_node * static_cast<Rank>(of_node.size());
  const Rank ranks = std::min(all, std::max<Rank>(1, 256 / per_node) * per_node);
  for (const Collective each :
       {Collective::all_reduce, Collective::all_gather, Collective::broadcast,
        Collective::all_to_all, Collective::send_recv}) {
    CallSpec spec;
    spec.topology = &topology;
    spec.collective = each;
    spec.cost = calibration_for(topology);
    spec.gpus = first_gpus(topology, ranks);
    const CallCompiler compiler(std::move(spec));
    if (compiler.ranks() < 2) continue;
    Estimator estimator(compiler);
    for (const std::int64_t size : sizes) {
      const Prediction prediction = estimator.estimate(Bytes{size});
      ++count.all;
      count.clamped += prediction.clamped ? 1 : 0;
      EXPECT_GE(prediction.time, prediction.bounds.largest()) << file.stem();
    }
  }
}

TEST(ClampedEstimates, are_few_over_the_shipped_machines) {
  Count count;
  for (const auto& entry : fs::directory_iterator(fs::path(COLLSIM_SOURCE_DIR) / "topologies")) {
    if (entry.path().extension() == ".yaml") count_on(entry.path(), count);
  }
  std::cout << count.clamped << " of " << count.all << " estimates were clamped to their bound\n";
  EXPECT_GE(count.all, 1500);
  EXPECT_EQ(count.clamped, 0);
}

// What was clamped says so, and is the limit.
TEST(ClampedEstimates, say_so) {
  Prediction prediction;
  prediction.time = microseconds(5);
  clamp_to(prediction, microseconds(4));
  EXPECT_FALSE(prediction.clamped);
  EXPECT_EQ(prediction.time, microseconds(5));
  clamp_to(prediction, microseconds(6));
  EXPECT_TRUE(prediction.clamped);
  EXPECT_EQ(prediction.time, microseconds(6));
}

}  // namespace
}  // namespace collsim
