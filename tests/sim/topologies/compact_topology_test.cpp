#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/routing/routing.h"
#include "sim/topologies/like_nodes.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/reduced_topology.h"

namespace collsim {
namespace {

const std::filesystem::path shipped = std::filesystem::path(COLLSIM_SOURCE_DIR) / "topologies";

std::vector<LinkId> ids(const IdList& list) {
  return {list.begin(), list.end()};
}

std::vector<std::string> machines() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(shipped)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Every so many devices are looked at, so that machines of any size are tried fast.
std::uint32_t stride_of(const Topology& topology) {
  return static_cast<std::uint32_t>(topology.devices().size() / 1000 + 1);
}

class EveryMachine : public testing::TestWithParam<std::string> {
 protected:
  const Topology topology_ = load_topology(shipped / GetParam());
};

// Node after node lists the template's devices and links, counted from the node's first; an
// expansion of the templates, link by link.
TEST_P(EveryMachine, IsItsTemplatesExpanded) {
  DeviceId device = 0;
  LinkId link = 0;
  std::vector<DeviceId> gpus;
  for (std::uint32_t n = 0; n < topology_.node_count(); ++n) {
    const Graph& graph = topology_.node(n).graph->graph();
    const DeviceId first = device;
    for (const GraphDevice& each : graph.devices) {
      const Device made = topology_.device(device);
      ASSERT_EQ(made.node, static_cast<std::int32_t>(n));
      ASSERT_EQ(made.kind, each.kind);
      ASSERT_EQ(made.model, each.model);
      if (each.kind == DeviceKind::gpu) gpus.push_back(device);
      if (device % stride_of(topology_) == 0) {
        ASSERT_EQ(topology_.device_name(device), "node" + std::to_string(n) + "/" + each.name);
      }
      ++device;
    }
    for (const GraphLink& each : graph.links) {
      const Link forward = topology_.link(link);
      const Link back = topology_.link(link + 1);
      ASSERT_EQ(std::pair(forward.from, forward.to), std::pair(first + each.from, first + each.to));
      ASSERT_EQ(std::pair(back.from, back.to), std::pair(forward.to, forward.from));
      ASSERT_EQ(std::pair(forward.reverse, back.reverse), std::pair(link + 1, link));
      ASSERT_EQ(forward.kind, each.kind);
      ASSERT_EQ(forward.bandwidth, each.bandwidth);
      link += 2;
    }
  }
  EXPECT_EQ(device, topology_.first_fabric_device());
  EXPECT_EQ(link, topology_.first_fabric_link());
  EXPECT_TRUE(
      std::equal(gpus.begin(), gpus.end(), topology_.gpus().begin(), topology_.gpus().end()));
}

TEST_P(EveryMachine, LinksFromADeviceAreAllThatStartThereInOrder) {
  std::vector<std::vector<LinkId>> starting(topology_.devices().size());
  for (LinkId id = 0; id < topology_.links().size(); ++id) {
    const Link link = topology_.link(id);
    ASSERT_EQ(topology_.link(link.reverse).to, link.from);
    ASSERT_EQ(topology_.link(link.reverse).reverse, id);
    starting[link.from].push_back(id);
  }
  for (DeviceId id = 0; id < topology_.devices().size(); ++id) {
    ASSERT_EQ(ids(topology_.links_from(id)), starting[id]);
  }
}

TEST_P(EveryMachine, NamesLeadBackToTheirDevices) {
  for (DeviceId id = 0; id < topology_.devices().size(); id += stride_of(topology_)) {
    EXPECT_EQ(topology_.find_device(topology_.device_name(id)), id);
  }
  EXPECT_FALSE(topology_.find_device("node0/nothing"));
  EXPECT_FALSE(topology_.find_device("node00/gpu0"));
  EXPECT_FALSE(topology_.find_device("node" + std::to_string(topology_.node_count()) + "/gpu0"));
}

TEST_P(EveryMachine, LinksKnowWhatTheyShare) {
  std::set<std::pair<LinkId, SharedResourceId>> covered;
  for (SharedResourceId id = 0; id < topology_.shared_resources().size(); ++id) {
    for (const LinkId link : topology_.shared_resource(id).links) covered.emplace(link, id);
  }
  std::size_t found = 0;
  for (LinkId link = 0; link < topology_.links().size(); ++link) {
    for (const SharedResourceId id : topology_.shares_of_link(link)) {
      ++found;
      EXPECT_TRUE(covered.contains({link, id}));
    }
  }
  EXPECT_EQ(found, covered.size());
}

INSTANTIATE_TEST_SUITE_P(CompactTopology, EveryMachine, testing::ValuesIn(machines()),
                         [](const auto& tested) {
                           std::string name = tested.param.substr(0, tested.param.find('.'));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// A DGX H100 has 27 devices (8 GPUs, an NVSwitch, 8 PCIe switches, 8 NICs, 2 CPUs) and 33 links (8
// times 4, and one between the CPUs). 131,072 NICs fill 2,048 leaves of 64. Each of 32 pods has 64
// leaves and 64 spines with a cable each; its spines have 64 cables up, in trunks to 16 of the
// 64 * 16 = 1,024 cores, so that a core takes 32 trunks of 4, all its 128 ports.
TEST(CompactTopology, LargestMachineHasAllItsParts) {
  const Topology topology = load_topology(shipped / "dgx-h100-x16384.yaml");
  EXPECT_EQ(topology.gpus().size(), 131'072U);
  EXPECT_EQ(topology.devices().size(), 16'384U * 27 + 2'048 + 2'048 + 1'024);
  EXPECT_EQ(topology.links().size() / 2, 16'384U * 33 + 131'072 + 32 * 64 * 64 + 1'024 * 32);
  EXPECT_EQ(topology.device_name(topology.gpus().back()), "node16383/gpu7");
  EXPECT_EQ(topology.links_from(*topology.find_device("core1023")).size(), 32U);
  const Link trunk = topology.link(topology.links_from(*topology.find_device("core0"))[0]);
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(trunk.bandwidth), 4 * 50);
  // 64 spines of the pod, then any of 16 cores; gpu, pcie, nic, leaf, spine, core and back.
  Router router(topology);
  const auto routes = router.all_shortest(topology.gpus().front(), topology.gpus()[131'072 - 8]);
  EXPECT_EQ(routes.size(), 1'024U);
  EXPECT_EQ(routes.front().links.size(), 10U);
}

// 294,912 cables of 12 bytes and both their directions of 4 by device (2.4 MB), 447,488 devices of
// 4 to find them (1.8 MB), 131,072 GPUs of 4 (0.5 MB), 5,120 switches of about 100: 8.7 MB. As
// objects with names, devices and links took 200 MB.
TEST(CompactTopology, LargestMachineTakesLittleMemory) {
  const auto before = mallinfo2();
  const Topology topology = load_topology(shipped / "dgx-h100-x16384.yaml");
  const auto after = mallinfo2();
  EXPECT_LT(after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + 10'000'000);
  EXPECT_EQ(topology.node(0).graph, topology.node(16'383).graph);
}

// A link of node 2 goes: nodes 0, 1 and 3 keep sharing one template, and what is left keeps its
// place and its name.
TEST(CompactTopology, OnlyANodeThatLosesALinkHasATemplateOfItsOwn) {
  const Topology whole = load_topology(shipped / "dgx-h100-x4.yaml");
  std::vector<bool> dead(whole.links().size());
  const LinkId lost = whole.node(2).first_link + 6;
  const LinkId cable = whole.first_fabric_link() + 10;
  dead[lost + 1] = true;  // the way back is enough
  dead[cable] = true;
  const ReducedTopology reduced = without_links(whole, dead);
  const Topology& rest = reduced.topology;
  ASSERT_EQ(rest.links().size(), whole.links().size() - 4);
  ASSERT_EQ(reduced.original.size(), rest.links().size());
  EXPECT_EQ(rest.node(0).graph, rest.node(1).graph);
  EXPECT_EQ(rest.node(0).graph, rest.node(3).graph);
  EXPECT_NE(rest.node(0).graph, rest.node(2).graph);
  EXPECT_EQ(rest.devices().size(), whole.devices().size());
  for (LinkId id = 0; id < rest.links().size(); ++id) {
    const LinkId original = reduced.original[id];
    EXPECT_NE(original / 2, lost / 2);
    EXPECT_NE(original / 2, cable / 2);
    EXPECT_TRUE(id == 0 || reduced.original[id - 1] < original);
    EXPECT_EQ(rest.link_name(id), whole.link_name(original));
  }
}

// Shares lose the links that go; they keep their number.
TEST(CompactTopology, SharesOfANodeLoseTheirDeadLinks) {
  const Topology whole = read_topology(
      {"shares",
       "collsim: topology/1\n"
       "name: shares\n"
       "nodes:\n"
       "  count: 2\n"
       "  devices: [{ id: \"gpu[0..1]\", kind: gpu }, { id: hub, kind: nvswitch }]\n"
       "  links: [{ from: \"gpu[0..1]\", to: hub, kind: nvlink, bandwidth: 10 GB/s }]\n"
       "  shared: [{ name: all, bandwidth: 9 GB/s, links: [\"* <-> hub\"] }]\n"
       "fabric: { kind: single_switch, attach: gpu,\n"
       "          link: { bandwidth: 1 GB/s, latency: 0 s } }\n"});
  std::vector<bool> dead(whole.links().size());
  dead[0] = true;  // node0/gpu0 -> node0/hub
  const Topology rest = without_links(whole, dead).topology;
  ASSERT_EQ(rest.shared_resources().size(), 2U);
  EXPECT_EQ(ids(rest.shared_resource(0).links), (std::vector<LinkId>{0, 1}));  // of gpu1
  EXPECT_EQ(rest.shared_resource(1).links.size(), 4U);
  EXPECT_EQ(rest.shared_resource_name(1), "node1/all");
}

// Rails of 32 nodes: nodes 0 to 31 have the same leaves, and so on.
TEST(CompactTopology, NodesOnTheSameLeavesAreAlike) {
  const auto like = first_like_nodes(load_topology(shipped / "dgx-h100-x64.yaml"));
  ASSERT_EQ(like.size(), 64U);
  for (std::uint32_t node = 0; node < 64; ++node) EXPECT_EQ(like[node], node / 32 * 32);
}

}  // namespace
}  // namespace collsim
