#include "sim/topologies/topology_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "sim/topologies/loader.h"

namespace collsim {
namespace {

namespace fs = std::filesystem;

const fs::path templates = fs::path(COLLSIM_SOURCE_DIR) / "topologies/nodes";

// Every shipped node, written down and read again, is the same node.
TEST(TopologyWriter, WhatItWritesIsReadAgain) {
  std::size_t nodes = 0;
  for (const auto& entry : fs::directory_iterator(templates)) {
    SCOPED_TRACE(entry.path());
    const NodeTemplate node = load_node_template(entry.path());
    const ClusterText cluster{"again", {"A comment."}, node, 1, {}};
    const std::string text = topology_text(cluster);
    if (std::count_if(node.devices.begin(), node.devices.end(), [](const GraphDevice& device) {
          return device.kind == DeviceKind::gpu;
        }) == 0) {
      continue;
    }
    const Topology topology = read_topology({"again", text});
    ASSERT_EQ(topology.devices().size(), node.devices.size());
    for (std::size_t i = 0; i < node.devices.size(); ++i) {
      const Device device = topology.device(static_cast<DeviceId>(i));
      EXPECT_EQ(topology.device_name(static_cast<DeviceId>(i)), "node0/" + node.devices[i].name);
      EXPECT_EQ(device.kind, node.devices[i].kind);
      EXPECT_EQ(device.model, node.devices[i].model);
      EXPECT_DOUBLE_EQ(device.port_rate.value, node.devices[i].port_rate.value);
      EXPECT_EQ(device.gpudirect, node.devices[i].gpudirect);
    }
    ASSERT_EQ(topology.links().size(), 2 * node.links.size());
    for (std::size_t i = 0; i < node.links.size(); ++i) {
      const Link link = topology.link(static_cast<LinkId>(2 * i));
      EXPECT_EQ(link.from, node.links[i].from);
      EXPECT_EQ(link.to, node.links[i].to);
      EXPECT_EQ(link.kind, node.links[i].kind);
      EXPECT_EQ(link.count, node.links[i].count);
      EXPECT_NEAR(link.bandwidth.value, node.links[i].bandwidth.value, 1e-8 * link.bandwidth.value);
    }
    ++nodes;
  }
  EXPECT_GE(nodes, 30U);
}

TEST(TopologyWriter, SharedResourcesKeepTheirDirections) {
  const Topology first = read_topology(
      {"shares",
       "collsim: topology/1\n"
       "name: shares\n"
       "nodes:\n"
       "  devices: [{ id: \"gpu[0..1]\", kind: gpu }, { id: nvswitch0, kind: nvswitch }]\n"
       "  links: [{ from: \"gpu[0..1]\", to: nvswitch0, kind: nvlink, bandwidth: 10 GB/s }]\n"
       "  shared: [{ name: out, bandwidth: 5 GB/s, links: [\"gpu0 -> *\", \"* -> gpu1\"] }]\n"});
  const NodeTemplate& node = first.node(0).graph->graph();
  const Topology again = read_topology({"again", topology_text({"again", {}, node, 1, {}})});
  ASSERT_EQ(again.shared_resources().size(), 1U);
  const IdList links = again.shared_resources()[0].links;
  const IdList expected = first.shared_resources()[0].links;
  ASSERT_EQ(links.size(), expected.size());
  for (std::size_t i = 0; i < links.size(); ++i) EXPECT_EQ(links[i], expected[i]);
}

TEST(TopologyWriter, OddCharactersDoNoHarm) {
  NodeTemplate node;
  GraphDevice gpu;
  gpu.name = "gpu0";
  gpu.model = "H\"100\\ }\n\xC3\xA9";
  node.devices.push_back(gpu);
  const Topology topology =
      read_topology({"odd", topology_text({"a\" name: b", {"x\ny: z"}, node, 1, {}})});
  EXPECT_EQ(topology.name(), "a_ name: b");
  EXPECT_EQ(topology.device(0).model, "H_100_ ____");
}

TEST(TopologyWriter, FlowTextIsTheMappingOnOneLine) {
  const YamlValue value =
      read_yaml({"fabric",
                 "collsim: fabric/1\nkind: rails\nlink:\n  bandwidth: 1 GB/s\n  latency: 1 us\n"
                 "list: [a, \"b: c\"]\n"},
                "fabric");
  EXPECT_EQ(flow_text(value),
            "{ kind: rails, link: { bandwidth: 1 GB/s, latency: 1 us }, list: [a, \"b: c\"] }");
}

}  // namespace
}  // namespace collsim
