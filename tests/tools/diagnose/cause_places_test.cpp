// A cause may act in many places, each of which plays its own part in rings and trees.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "models/imports/machine.h"
#include "tools/collsim/diagnose/cause_fit.h"

namespace collsim {
namespace {

Evidence three_sizes() {
  EvidenceSeries series;
  series.call.nodes = 4;
  series.call.ranks = 32;
  for (const std::int64_t mib : {64, 256, 1024}) {
    EvidencePoint point;
    point.size.count = mib << 20;
    series.points.push_back(point);
  }
  Evidence evidence;
  evidence.series.push_back(series);
  return evidence;
}

const Hypothesis& cause_named(const std::vector<Hypothesis>& all, const std::string& name) {
  return *std::find_if(all.begin(), all.end(),
                       [&](const Hypothesis& each) { return each.cause == name; });
}

TEST(CausePlaces, are_found_by_the_part_that_they_play) {
  const Topology topology = load_machine("dgx-h100-x4").topology;
  const Calibration cost = calibration_for(topology);
  Evidence evidence = three_sizes();
  const LogPredictor predictor(evidence, topology, cost, default_nccl_version);
  const std::vector<Hypothesis> all =
      hypotheses_for(predictor.compiler_of(evidence.series[0].call), evidence.series[0].call);
  const Hypothesis& slow_port = cause_named(all, "slow-port");
  ASSERT_EQ(slow_port.places.size(), 32U) << "eight ports of four nodes";
  const auto place = std::find_if(slow_port.places.begin(), slow_port.places.end(),
                                  [](const CausePlace& each) { return each.name == "node1/nic3"; });
  ASSERT_NE(place, slow_port.places.end());

  const std::vector<PointIndex> points{{0, 0}, {0, 1}, {0, 2}};
  const auto simulated = predictor.simulate(place->change(0.5), points);
  ASSERT_TRUE(simulated);
  for (std::size_t i = 0; i < points.size(); ++i) {
    evidence.series[0].points[i].measured.value = std::exp(simulated->log_times[i]);
  }
  // All sizes are simulated, however many messages they take.
  const FitEffort effort{.of_one = 100'000'000};
  const auto fitted = fit_causes(predictor, {slow_port}, points, load_spread(), effort);
  ASSERT_FALSE(fitted.empty());
  // node0 is the root or a leaf of all trees: its ports play another part than node1's.
  EXPECT_TRUE(fitted[0].hypothesis.place.starts_with("node1/")) << fitted[0].hypothesis.place;
  EXPECT_NEAR(fitted[0].value, 0.5, 0.01);
  EXPECT_LT(fitted[0].residual, 0.01);
}

}  // namespace
}  // namespace collsim
