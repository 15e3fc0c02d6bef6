#include <gtest/gtest.h>

#include <filesystem>

#include "sim/topologies/loader.h"

namespace collsim {
namespace {

const std::filesystem::path shipped = std::filesystem::path(COLLSIM_SOURCE_DIR) / "topologies";

TEST(TopologyLoading, HgxH200HasEightGpusOnOneNvswitch) {
  const Topology topology = load_topology(shipped / "hgx-h200.yaml");
  ASSERT_EQ(topology.gpus().size(), 8U);
  EXPECT_EQ(topology.node_count(), 1U);
  EXPECT_EQ(topology.calibration(), "hgx-h200");
  const DeviceId gpu = topology.gpus()[7];
  EXPECT_EQ(topology.device(gpu).name, "node0/gpu7");
  EXPECT_EQ(topology.device(gpu).model, "H200");
  const Link& nvlink = topology.link(topology.links_from(gpu)[0]);
  EXPECT_EQ(topology.device(nvlink.to).name, "node0/nvswitch0");
  EXPECT_EQ(nvlink.kind, LinkKind::nvlink);
  EXPECT_EQ(nvlink.count, 18U);
  // 18 lanes of 26.56 GB/s.
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(nvlink.bandwidth), 478.08);
}

TEST(TopologyLoading, TextbookSwitchJoinsEveryRankByOneLink) {
  const Topology topology = load_topology(shipped / "switch-64.yaml");
  ASSERT_EQ(topology.gpus().size(), 64U);
  EXPECT_EQ(topology.devices().size(), 65U);
  EXPECT_EQ(topology.links().size(), 128U);  // both directions
  for (const DeviceId gpu : topology.gpus()) {
    ASSERT_EQ(topology.links_from(gpu).size(), 1U);
    const Link& link = topology.link(topology.links_from(gpu)[0]);
    EXPECT_EQ(topology.device(link.to).name, "switch0");
    EXPECT_DOUBLE_EQ(in_gigabytes_per_second(link.bandwidth), 50);
    EXPECT_DOUBLE_EQ(in_microseconds(link.latency), 0.5);
    EXPECT_EQ(topology.link(link.reverse).to, gpu);
  }
}

}  // namespace
}  // namespace collsim
