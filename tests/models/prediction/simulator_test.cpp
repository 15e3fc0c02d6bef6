// Large clusters are represented by small ones. The whole cluster is simulated beside it, where
// that takes seconds.

#include "models/prediction/simulator.h"

#include <gtest/gtest.h>

#include <string>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/prediction/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

/// An all_reduce on all 2,048 GPUs of 256 DGX H100.
class LargeCluster : public testing::Test {
 protected:
  Planner planner(const std::string& algorithm) const {
    CallSpec spec;
    spec.topology = &topology_;
    spec.cost = calibration_for(topology_);
    spec.gpus = first_gpus(topology_, 2048);
    spec.run.algorithm = algorithm;
    return Planner(spec);
  }

 private:
  Topology topology_ = load_topology(find_data_file("dgx-h100-x256-2-1", "topologies"));
};

TEST_F(LargeCluster, scaled_is_about_what_the_whole_takes) {
  const Planner tree = planner("tree");
  const Bytes size{16 << 20};
  const Prediction scaled = Simulator(tree).simulate(size);
  const Prediction whole = Simulator(tree, {.exact = true}).simulate(size);
  EXPECT_EQ(scaled.extent, Extent::scaled);
  EXPECT_EQ(whole.extent, Extent::whole);
  EXPECT_LT(4 * scaled.transfers, whole.transfers);
  EXPECT_NEAR(scaled.time.value, whole.time.value, 0.05 * whole.time.value);
}

TEST_F(LargeCluster, what_is_scaled_says_what_nccl_chooses_for_the_whole) {
  const Planner any = planner("auto");
  const Bytes size{1 << 30};
  const auto choice = any.decide(size).candidate;
  const Prediction scaled = Simulator(any).simulate(size);
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(scaled.protocol, choice->protocol);
  EXPECT_GE(scaled.time.value, scaled.bounds.largest().value);
}

}  // namespace
}  // namespace collsim
