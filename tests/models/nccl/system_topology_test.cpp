// Our own topologies in NCCL's eyes.

#include "models/nccl/system/system_topology.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/topologies/loader.h"
#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

Topology shipped(const std::string& name) {
  return load_topology(source + "/topologies/" + name + ".yaml");
}

void expect_same_graph(const NcclGraph& a, const NcclGraph& b) {
  EXPECT_EQ(a.pattern, b.pattern);
  EXPECT_EQ(a.cross_nic, b.cross_nic);
  EXPECT_EQ(a.channels, b.channels);
  EXPECT_FLOAT_EQ(a.intra_bandwidth, b.intra_bandwidth);
  EXPECT_FLOAT_EQ(a.inter_bandwidth, b.inter_bandwidth);
  EXPECT_EQ(a.intra_type, b.intra_type);
  EXPECT_EQ(a.inter_type, b.inter_type);
}

/// Both descriptions of a machine have to give the same graphs and estimates.
void expect_same(const Nccl& ours, const Nccl& theirs) {
  expect_same_graph(ours.graphs().ring, theirs.graphs().ring);
  expect_same_graph(ours.graphs().tree, theirs.graphs().tree);
  EXPECT_EQ(ours.channels().channels.size(), theirs.channels().channels.size());
  for (const NcclFunction function : all_nccl_functions) {
    for (const NcclAlgorithm algorithm : all_nccl_algorithms) {
      for (const Protocol protocol : all_nccl_protocols) {
        const Tuning& a = ours.tuning(function, algorithm, protocol);
        const Tuning& b = theirs.tuning(function, algorithm, protocol);
        EXPECT_FLOAT_EQ(a.latency, b.latency);
        EXPECT_FLOAT_EQ(a.bandwidth, b.bandwidth);
      }
    }
  }
}

TEST(SystemOfTopology, DgxH100IsTheGoldenOne) {
  const std::string golden = golden_folder + "topologies/dgxh100.xml";
  expect_same(Nccl(shipped("dgx-h100")), nccl_on(golden, 1));
  expect_same(Nccl(shipped("dgx-h100-x4")), nccl_on(golden, 4));
  // One node of ours, multiplied.
  expect_same(Nccl(shipped("dgx-h100"), {}, default_nccl_version, 4), nccl_on(golden, 4));
}

TEST(SystemOfTopology, DgxA100IsTheGoldenOne) {
  const std::string golden = golden_folder + "topologies/dgxa100.xml";
  expect_same(Nccl(shipped("dgx-a100")), nccl_on(golden, 1));
  expect_same(Nccl(shipped("dgx-a100"), {}, default_nccl_version, 4), nccl_on(golden, 4));
}

TEST(SystemOfTopology, GpusKnowTheirArchitecture) {
  EXPECT_EQ(compute_capability_of("NVIDIA A100-SXM4-80GB"), 80);
  EXPECT_EQ(compute_capability_of("H200"), 90);
  EXPECT_EQ(compute_capability_of("L40S"), 89);
  EXPECT_EQ(compute_capability_of("A40"), 86);
  EXPECT_EQ(compute_capability_of("V100"), 70);
  EXPECT_EQ(compute_capability_of("GB200"), 100);
  EXPECT_EQ(compute_capability_of(""), 90);
}

TEST(SystemOfTopology, CpusAreKnownByTheirNames) {
  EXPECT_EQ(system_from_topology(shipped("dgx-a100"), default_nccl_version).cpu().vendor,
            CpuVendor::amd);
  EXPECT_EQ(system_from_topology(shipped("dgx-h100"), default_nccl_version).cpu().vendor,
            CpuVendor::intel);
}

TEST(SystemOfTopology, AGpuOnTheNetworkHasASocket) {
  // Shaped to 5 Gb/s, which NCCL cannot see: it takes 10 Gb/s and finds what its log of such a run
  // says, one channel of 1.2 GB/s over the host bridge, run as two.
  const Nccl nccl(shipped("one-gpu-ethernet-5g"));
  EXPECT_EQ(nccl.nodes(), 8U);
  EXPECT_EQ(nccl.ranks(), 8U);
  EXPECT_FLOAT_EQ(nccl.bandwidth().per_channel, 1.25F);
  EXPECT_FLOAT_EQ(nccl.graphs().ring.inter_bandwidth, 1.2F);
  EXPECT_EQ(nccl.graphs().ring.inter_type, PathType::phb);
  EXPECT_EQ(nccl.channels().channels.size(), 2U);
}

TEST(SystemOfTopology, EveryShippedMachineHasAChoice) {
  for (const char* name : {"a100-mesh-4", "dgx-1-v100", "hgx-h200", "pcie-8", "pcie-8-bridged",
                           "dgx-h100-x8-rails", "dgx-a100-x16-rails-spine", "switch-8"}) {
    SCOPED_TRACE(name);
    const Nccl nccl(shipped(name));
    for (const NcclFunction function : all_nccl_functions) {
      const Choice choice = nccl.choose(function, Bytes{1 << 24});
      EXPECT_GT(choice.time, 0);
      EXPECT_GE(choice.channels, 1U);
      EXPECT_LE(choice.channels, nccl.channels().channels.size());
    }
  }
}

}  // namespace
}  // namespace collsim::test
