#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

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
  EXPECT_EQ(topology.device_name(gpu), "node0/gpu7");
  EXPECT_EQ(topology.device(gpu).model, "H200");
  const Link nvlink = topology.link(topology.links_from(gpu)[0]);
  EXPECT_EQ(topology.device_name(nvlink.to), "node0/nvswitch0");
  EXPECT_EQ(nvlink.kind, LinkKind::nvlink);
  EXPECT_EQ(nvlink.count, 18U);
  // 18 lanes of 26.56 GB/s.
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(nvlink.bandwidth), 478.08);
}

bool reduces(const Topology& topology, std::string_view name) {
  const auto found = topology.find_device(name);
  return found && topology.device(*found).reduces;
}

/// Loads a topology written here; templates are those that ship.
Topology load_text(const std::string& text) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("collsim-topology-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  std::filesystem::copy(shipped / "nodes", folder / "nodes",
                        std::filesystem::copy_options::recursive);
  std::ofstream(folder / "topology.yaml") << "collsim: topology/1\nname: test\n" << text;
  Topology topology = load_topology(folder / "topology.yaml");
  std::filesystem::remove_all(folder);
  return topology;
}

std::size_t count_of(const Topology& topology, std::string_view stem) {
  const auto devices = topology.fabric_devices();
  return static_cast<std::size_t>(
      std::count_if(devices.begin(), devices.end(),
                    [&](const GraphDevice& device) { return device.name.starts_with(stem); }));
}

/// What all links from one device to devices of a kind carry together, in GB/s.
double capacity(const Topology& topology, std::string_view from, std::string_view to_stem) {
  double sum = 0;
  const auto device = topology.find_device(from);
  EXPECT_TRUE(device) << from;
  for (const LinkId id : topology.links_from(device.value_or(0))) {
    const Link link = topology.link(id);
    if (topology.device_name(link.to).starts_with(to_stem)) {
      sum += in_gigabytes_per_second(link.bandwidth);
    }
  }
  return sum;
}

TEST(TopologyLoading, FatTreeOfFullBisectionHasAsMuchUpAsDown) {
  const Topology topology = load_topology(shipped / "dgx-h100-x64.yaml");
  // 512 NICs on leaves of 32 ports; 16 x 32 cables up on spines of 64 ports.
  EXPECT_EQ(count_of(topology, "leaf"), 16U);
  EXPECT_EQ(count_of(topology, "spine"), 8U);
  EXPECT_DOUBLE_EQ(capacity(topology, "leaf3", "node"), 32 * 50);
  EXPECT_DOUBLE_EQ(capacity(topology, "leaf3", "spine"), 32 * 50);
}

TEST(TopologyLoading, OversubscriptionDividesTheUplinks) {
  const Topology topology = load_topology(shipped / "dgx-h100-x64-oversubscribed.yaml");
  EXPECT_DOUBLE_EQ(capacity(topology, "leaf3", "node"), 1600);
  EXPECT_DOUBLE_EQ(capacity(topology, "leaf3", "spine"), 400);
}

TEST(TopologyLoading, UnevenOversubscriptionIsExact) {
  const Topology topology = load_text(
      "nodes: { template: one-gpu, count: 8 }\n"
      "fabric: { kind: fat_tree, attach: gpu, ports: 4, oversubscription: 1.5,\n"
      "          link: { bandwidth: 30 GB/s, latency: 1 us } }\n");
  EXPECT_DOUBLE_EQ(capacity(topology, "leaf0", "spine"), 4 * 30 / 1.5);
}

TEST(TopologyLoading, ThreeLevelsKeepTheirCapacityToTheTop) {
  const Topology topology = load_topology(shipped / "dgx-h100-x2048.yaml");
  EXPECT_EQ(topology.gpus().size(), 16'384U);
  EXPECT_EQ(count_of(topology, "leaf"), 512U);   // 16384 NICs / 32
  EXPECT_EQ(count_of(topology, "spine"), 512U);  // 16 pods, 32 leaves x 32 cables / 32 ports down
  EXPECT_EQ(count_of(topology, "core"), 256U);   // 512 spines x 32 cables / 64 ports
  EXPECT_DOUBLE_EQ(capacity(topology, "leaf100", "spine"), 1600);
  EXPECT_DOUBLE_EQ(capacity(topology, "spine100", "leaf"), 1600);
  EXPECT_DOUBLE_EQ(capacity(topology, "spine100", "core"), 1600);
}

TEST(TopologyLoading, RailsJoinNicsOfOneNumber) {
  const Topology topology = load_topology(shipped / "dgx-a100-x16-rails-spine.yaml");
  EXPECT_EQ(count_of(topology, "rail"), 8U);
  for (const Link link : topology.links()) {
    if (topology.device_name(link.from) != "rail5" || topology.node_of(link.to) < 0) continue;
    EXPECT_TRUE(topology.device_name(link.to).ends_with("/nic5"));
  }
  EXPECT_DOUBLE_EQ(capacity(topology, "rail5", "node"), 16 * 25);
  EXPECT_DOUBLE_EQ(capacity(topology, "rail5", "spine"), 16 * 25);
}

// NVIDIA's table for the DGX-1 with V100: six links a GPU.
TEST(TopologyLoading, CubeMeshUsesSixLinksOfEveryGpu) {
  const Topology topology = load_topology(shipped / "dgx-1-v100.yaml");
  for (const DeviceId gpu : topology.gpus()) {
    std::uint32_t links = 0;
    for (const LinkId id : topology.links_from(gpu)) {
      if (topology.link(id).kind == LinkKind::nvlink) links += topology.link(id).count;
    }
    EXPECT_EQ(links, 6U) << topology.device_name(gpu);
  }
}

TEST(TopologyLoading, ExtendingReplacesDevicesAndAddsLinks) {
  const Topology topology = load_topology(shipped / "pcie-8-bridged.yaml");
  EXPECT_EQ(topology.device(topology.gpus()[5]).model, "A40");
  EXPECT_EQ(topology.gpus().size(), 8U);
  EXPECT_DOUBLE_EQ(capacity(topology, "node0/gpu4", "node0/gpu5"), 4 * 14.06);
  EXPECT_DOUBLE_EQ(capacity(topology, "node0/gpu4", "node0/pcie2"), 31.5);
}

TEST(TopologyLoading, SharedResourcesCoverDirections) {
  const Topology topology = load_text(
      "nodes:\n"
      "  count: 2\n"
      "  devices: [{ id: \"gpu[0..1]\", kind: gpu }, { id: hub, kind: nvswitch }]\n"
      "  links: [{ from: \"gpu[0..1]\", to: hub, kind: nvlink, bandwidth: 10 GB/s }]\n"
      "  shared:\n"
      "    - { name: \"out[0..1]\", bandwidth: 8 GB/s, links: [\"gpu[0..1] -> *\"] }\n"
      "    - { name: all, bandwidth: 9 GB/s, links: [\"* <-> hub\"] }\n"
      "fabric: { kind: single_switch, attach: gpu,\n"
      "          link: { bandwidth: 1 GB/s, latency: 0 s } }\n");
  ASSERT_EQ(topology.shared_resources().size(), 6U);  // three a node
  const SharedResource out = topology.shared_resource(4);
  EXPECT_EQ(topology.shared_resource_name(4), "node1/out1");
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(out.bandwidth), 8);
  ASSERT_EQ(out.links.size(), 1U);
  EXPECT_EQ(topology.link_name(out.links[0]), "node1/gpu1 -> node1/hub");
  // Two links, both directions.
  EXPECT_EQ(topology.shared_resources()[5].links.size(), 4U);
}

// Hopper's NVSwitches add up, Ampere's do not; a fabric's switches where it says so.
TEST(TopologyLoading, SwitchesReduceWhereTheFileSaysSo) {
  EXPECT_TRUE(reduces(load_topology(shipped / "dgx-h100.yaml"), "node0/nvswitch0"));
  EXPECT_FALSE(reduces(load_topology(shipped / "dgx-a100.yaml"), "node0/nvswitch0"));
  const std::string fabric =
      "nodes: { template: one-gpu, count: 4 }\n"
      "fabric: { kind: single_switch, attach: gpu, link: { bandwidth: 5 GB/s, latency: 1 us }";
  EXPECT_FALSE(reduces(load_text(fabric + " }\n"), "switch0"));
  EXPECT_FALSE(reduces(load_text(fabric + ", sharp: false }\n"), "switch0"));
  EXPECT_TRUE(reduces(load_text(fabric + ", sharp: true }\n"), "switch0"));
}

TEST(TopologyLoading, CustomFabricIsAnyGraph) {
  const Topology topology = load_text(
      "nodes: { template: one-gpu, count: 8 }\n"
      "fabric:\n"
      "  kind: custom\n"
      "  devices: [{ id: \"leaf[0..1]\" }]\n"
      "  links:\n"
      "    - { from: \"node[0..3]/gpu0\", to: leaf0, bandwidth: 5 Gb/s }\n"
      "    - { from: \"node[4..7]/gpu0\", to: leaf1, bandwidth: 5 Gb/s }\n"
      "    - { from: leaf0, to: leaf1, count: 2, bandwidth: 5 Gb/s }\n"
      "  shared: [{ name: trunk, bandwidth: 1 GB/s, links: [\"leaf0 -> leaf1\"] }]\n");
  EXPECT_EQ(topology.devices().size(), 10U);
  EXPECT_DOUBLE_EQ(capacity(topology, "leaf1", "node"), 4 * 0.625);
  EXPECT_DOUBLE_EQ(capacity(topology, "leaf1", "leaf0"), 2 * 0.625);
  ASSERT_EQ(topology.shared_resources().size(), 1U);
  EXPECT_EQ(topology.link_name(topology.shared_resources()[0].links[0]), "leaf0 -> leaf1");
}

TEST(TopologyLoading, DifferentNodesCountOn) {
  const Topology topology = load_text(
      "nodes: [{ template: dgx-a100 }, { template: dgx-h100, count: 2 }]\n"
      "fabric: { kind: single_switch, link: { bandwidth: 25 GB/s, latency: 1 us } }\n");
  EXPECT_EQ(topology.node_count(), 3U);
  EXPECT_EQ(topology.device_name(topology.gpus()[8]), "node1/gpu0");
  EXPECT_EQ(topology.device(topology.gpus()[8]).model, "H100");
}

TEST(TopologyLoading, TextbookSwitchJoinsEveryRankByOneLink) {
  const Topology topology = load_topology(shipped / "switch-64.yaml");
  ASSERT_EQ(topology.gpus().size(), 64U);
  EXPECT_EQ(topology.devices().size(), 65U);
  EXPECT_EQ(topology.links().size(), 128U);  // both directions
  for (const DeviceId gpu : topology.gpus()) {
    ASSERT_EQ(topology.links_from(gpu).size(), 1U);
    const Link link = topology.link(topology.links_from(gpu)[0]);
    EXPECT_EQ(topology.device_name(link.to), "switch0");
    EXPECT_DOUBLE_EQ(in_gigabytes_per_second(link.bandwidth), 50);
    EXPECT_DOUBLE_EQ(in_microseconds(link.latency), 0.5);
    EXPECT_EQ(topology.link(link.reverse).to, gpu);
  }
}

}  // namespace
}  // namespace collsim
