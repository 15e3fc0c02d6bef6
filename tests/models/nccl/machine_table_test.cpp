// What NCCL 2.30.7's own search found for more machines: g search channels, their GB/s, C run.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/models/nccl/nccl_test_support.h"

namespace collsim::test {
namespace {

struct Row {
  const char* file;
  std::uint32_t nodes;
  std::uint32_t ring_channels;
  float ring_bandwidth;
  std::uint32_t tree_channels;
  float tree_intra;
  float tree_inter;
  GraphPattern tree_pattern;
  PathType ring_inter_type;
  std::size_t run_channels;
};

constexpr GraphPattern balanced = GraphPattern::balanced_tree;
constexpr GraphPattern one_gpu = GraphPattern::tree;
constexpr PathType pix = PathType::pix;
constexpr PathType pxn = PathType::pxn;

const Row rows[] = {
    // NVSwitch hosts alone: 370.8 GB/s a GPU make 6 x 60, run as 12 x 30.
    {"h100_4x400g", 1, 12, 30, 12, 30, 30, balanced, pix, 24},
    {"h100_2", 1, 12, 30, 12, 60, 60, balanced, pix, 24},
    {"a100_4", 1, 12, 20, 12, 20, 20, balanced, pix, 24},
    {"b200_8x400g", 1, 16, 45, 16, 45, 45, balanced, pix, 32},
    {"v100_nvswitch_8", 1, 6, 20, 6, 20, 20, balanced, pix, 12},
    // Several nodes: NICs limit; rings come back to their rail over NVLink (PXN).
    {"hgxh100_8x200g", 2, 8, 24, 8, 48, 24, one_gpu, pxn, 16},
    {"hgxh100_8x200g", 4, 8, 24, 8, 48, 24, one_gpu, pxn, 16},
    {"h100_4x400g", 4, 8, 24, 8, 48, 24, one_gpu, pxn, 16},
    {"b200_8x400g", 4, 8, 48, 8, 96, 48, one_gpu, pxn, 16},
    {"h100_1x400g", 8, 2, 24, 2, 48, 24, one_gpu, pix, 4},
    // PCIe only.
    {"pcie2_amd_g4", 1, 2, 12, 2, 20, 20, balanced, pix, 4},
    {"pcie2_intel_g4", 1, 1, 20, 1, 20, 20, balanced, pix, 2},
    {"pcie8_intel_g3", 1, 1, 10, 1, 10, 10, balanced, pix, 2},
    {"pcie4_one_switch_g4", 1, 2, 12, 2, 12, 12, balanced, pix, 4},
};

TEST(MachineTable, SearchFindsWhatNcclFinds) {
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.file) + " on " + std::to_string(row.nodes) + " nodes");
    const Nccl nccl = nccl_on(machine_folder + row.file + ".xml", row.nodes);
    const NcclGraph& ring = nccl.graphs().ring;
    const NcclGraph& tree = nccl.graphs().tree;
    EXPECT_EQ(ring.channel_count(), row.ring_channels);
    EXPECT_FLOAT_EQ(ring.intra_bandwidth, row.ring_bandwidth);
    EXPECT_FLOAT_EQ(ring.inter_bandwidth, row.ring_bandwidth);
    EXPECT_EQ(ring.inter_type, row.ring_inter_type);
    EXPECT_EQ(tree.channel_count(), row.tree_channels);
    EXPECT_FLOAT_EQ(tree.intra_bandwidth, row.tree_intra);
    EXPECT_FLOAT_EQ(tree.inter_bandwidth, row.tree_inter);
    EXPECT_EQ(tree.pattern, row.tree_pattern);
    EXPECT_EQ(nccl.channels().channels.size(), row.run_channels);
  }
}

TEST(MachineTable, CubeMeshOnTwoNodes) {
  // NCCL 2.30.7: rings 4 x 12 (one per NIC), trees 4 x (20 inside, 12 at the NIC), 8 channels run.
  const Nccl nccl = nccl_on(golden_folder + "topologies/dgx1v.xml", 2);
  EXPECT_EQ(nccl.graphs().ring.channel_count(), 4U);
  EXPECT_FLOAT_EQ(nccl.graphs().ring.inter_bandwidth, 12);
  EXPECT_FLOAT_EQ(nccl.graphs().tree.intra_bandwidth, 20);
  EXPECT_EQ(nccl.channels().channels.size(), 8U);
}

TEST(MachineTable, BlackwellNvlsTreeIsCorrectedAsTreesAre) {
  // NCCL 2.29 and later, Simple: 0.9 at 2^29 bytes, the last entry, and nothing from 2^30 on.
  const Nccl nccl = nccl_on(machine_folder + "b200_8x400g.xml", 4);
  const Tuning cell =
      nccl.tuning(NcclFunction::all_reduce, NcclAlgorithm::nvls_tree, Protocol::simple);
  const auto estimate = [&](int log2_size) {
    return *nccl.estimate(NcclFunction::all_reduce, NcclAlgorithm::nvls_tree, Protocol::simple,
                          Bytes{std::int64_t{1} << log2_size});
  };
  const auto expected = [&](int log2_size, double factor) {
    return cell.latency + std::ldexp(1.0, log2_size) / (1000 * factor * cell.bandwidth);
  };
  EXPECT_NEAR(estimate(29), expected(29, 0.9), 1e-6 * expected(29, 0.9));
  EXPECT_NEAR(estimate(30), expected(30, 1), 1e-6 * expected(30, 1));
}

TEST(MachineTable, GroupedCallsWaitOncePerBatch) {
  // Ring waits for every call of a group, Tree once for ten: 15 us each and 15.2 us.
  const Nccl nccl = nccl_on(golden_folder + "topologies/dgxa100.xml", 1);
  const auto latency = [&](NcclAlgorithm algorithm, std::uint32_t calls) {
    return *nccl.estimate(NcclFunction::all_reduce, algorithm, Protocol::ll, Bytes{0}, calls);
  };
  EXPECT_NEAR(latency(NcclAlgorithm::ring, 10), 150, 0.001);
  EXPECT_NEAR(latency(NcclAlgorithm::tree, 10), 15.2, 0.001);
  EXPECT_NEAR(latency(NcclAlgorithm::tree, 11), 30.4, 0.001);
}

TEST(MachineTable, BlackwellNvls) {
  // NCCL 2.30.7 estimates AllReduce by NVLS on 8 x B200 at 25 us and 411.4 GB/s, Ring/LL128 at
  // 365.7: min(0.92 * 720, 16 * 40) * 8 / 14.
  const Nccl nccl = nccl_on(machine_folder + "b200_8x400g.xml", 1);
  const Tuning nvls = nccl.tuning(NcclFunction::all_reduce, NcclAlgorithm::nvls, Protocol::simple);
  EXPECT_FLOAT_EQ(nvls.latency, 25);
  EXPECT_NEAR(nvls.bandwidth, 411.4, 0.05);
  const Tuning ring = nccl.tuning(NcclFunction::all_reduce, NcclAlgorithm::ring, Protocol::ll128);
  EXPECT_NEAR(ring.bandwidth, 365.7, 0.05);
}

}  // namespace
}  // namespace collsim::test
