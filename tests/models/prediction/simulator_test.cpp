// Large clusters are represented by small ones. The whole cluster is simulated beside it, where
// that takes seconds.

#include "models/prediction/simulator.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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

/// An all_reduce on all 512 GPUs of 64 DGX H100, of which something is wrong.
Prediction faulty(const std::string& algorithm, Bytes size, const std::string& fault, bool exact) {
  const Topology topology = load_topology(find_data_file("dgx-h100-x64", "topologies"));
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.gpus = first_gpus(topology, 512);
  spec.run.algorithm = algorithm;
  spec.faults = find_faults(std::vector{parse_fault(fault)}, topology, 512);
  const Planner planner(std::move(spec));
  return Simulator(planner, {.exact = exact}).simulate(size);
}

// Node 31 is a leaf of one tree over 64 nodes, and next to the root of the other.
TEST(FaultyCluster, scaled_is_about_what_the_whole_takes) {
  const std::string fault = "link: node31/nic0, bandwidth: 10%";
  const Bytes size{8 << 20};
  const Prediction scaled = faulty("tree", size, fault, false);
  const Prediction whole = faulty("tree", size, fault, true);
  EXPECT_EQ(scaled.extent, Extent::scaled);
  EXPECT_EQ(whole.extent, Extent::whole);
  EXPECT_NEAR(scaled.time.value, whole.time.value, 0.02 * whole.time.value);
}

// Of the two channels that leave by the slow port, one ends long before the other, which gets on
// faster from then on: the call is not one that repeats itself. It takes no less than the port.
TEST(FaultyCluster, is_not_continued_where_channels_are_unlike) {
  const Topology topology = load_topology(find_data_file("dgx-h100-x64", "topologies"));
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.gpus = first_gpus(topology, 64);
  spec.run.algorithm = "tree";
  spec.faults =
      find_faults(std::vector{parse_fault("link: node3/nic0, bandwidth: 10%")}, topology, 64);
  const Planner planner(std::move(spec));
  const Prediction found = Simulator(planner).simulate(Bytes{std::int64_t{7} << 30});
  EXPECT_EQ(found.extent, Extent::whole);
  EXPECT_GE(found.time, found.floor.busiest_link);
}

// A fault of a moment meets a small cluster's shorter call at another point of it.
TEST(FaultyCluster, is_simulated_whole_where_a_fault_comes_or_goes) {
  const Prediction passing =
      faulty("tree", Bytes{8192}, "link: node31/nic0, bandwidth: 10%, until: 1 ms", false);
  EXPECT_NE(passing.extent, Extent::scaled);
}

}  // namespace
}  // namespace collsim
