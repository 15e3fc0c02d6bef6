#include "sim/routing/routing.h"

#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

const std::filesystem::path shipped = std::filesystem::path(COLLSIM_SOURCE_DIR) / "topologies";

DeviceId device(const Topology& topology, std::string_view name) {
  if (const auto found = topology.find_device(name)) return *found;
  ADD_FAILURE() << "no device " << name;
  return 0;
}

/// The devices on a route, in order.
std::vector<std::string> stops(const Topology& topology, const Route& route) {
  std::vector<std::string> names;
  for (const LinkId link : route.links) {
    if (names.empty()) names.push_back(topology.device_name(topology.link(link).from));
    names.push_back(topology.device_name(topology.link(link).to));
  }
  return names;
}

/// The devices on the only best route between two devices of a shipped machine.
std::vector<std::string> only_route(const char* file, std::string_view from, std::string_view to) {
  const Topology topology = load_topology(shipped / file);
  Router router(topology);
  const auto routes = router.all_shortest(device(topology, from), device(topology, to));
  EXPECT_EQ(routes.size(), 1U);
  return stops(topology, routes.front());
}

using Stops = std::vector<std::string>;

TEST(Routing, GpuToItselfIsEmpty) {
  const Topology topology = load_topology(shipped / "hgx-h200.yaml");
  Router router(topology);
  const Route route = router.route(topology.gpus()[3], topology.gpus()[3], 7);
  EXPECT_TRUE(route.links.empty());
  EXPECT_EQ(route.latency, Seconds{});
  EXPECT_EQ(route.bandwidth, unlimited);
}

TEST(Routing, NvswitchIsPreferredToPcie) {
  EXPECT_EQ(only_route("hgx-h200.yaml", "node0/gpu1", "node0/gpu2"),
            (Stops{"node0/gpu1", "node0/nvswitch0", "node0/gpu2"}));
}

TEST(Routing, TextbookSwitchHasItsBandwidthAndLatencyEndToEnd) {
  const Topology topology = load_topology(shipped / "switch-8.yaml");
  Router router(topology);
  for (const DeviceId from : topology.gpus()) {
    for (const DeviceId to : topology.gpus()) {
      if (from == to) continue;
      const Route route = router.route(from, to);
      EXPECT_EQ(route.links.size(), 2U);
      EXPECT_DOUBLE_EQ(in_gigabytes_per_second(route.bandwidth), 50);
      EXPECT_DOUBLE_EQ(in_microseconds(route.latency), 1);  // 0.5 us a link
    }
  }
}

// GPU 0 of a DGX-1 has NVLinks to 1, 2, 3 and 4 only.
TEST(Routing, CubeMeshNeighboursUseNvlinkAndOthersPcieNotAnotherGpu) {
  EXPECT_EQ(only_route("dgx-1-v100.yaml", "node0/gpu0", "node0/gpu4"),
            (Stops{"node0/gpu0", "node0/gpu4"}));
  EXPECT_EQ(only_route("dgx-1-v100.yaml", "node0/gpu0", "node0/gpu5"),
            (Stops{"node0/gpu0", "node0/pcie0", "node0/cpu0", "node0/cpu1", "node0/pcie2",
                   "node0/gpu5"}));
}

TEST(Routing, BridgedPairsUseTheirBridgeAndOthersTheNearestSwitch) {
  EXPECT_EQ(only_route("pcie-8-bridged.yaml", "node0/gpu2", "node0/gpu3"),
            (Stops{"node0/gpu2", "node0/gpu3"}));
  EXPECT_EQ(only_route("pcie-8.yaml", "node0/gpu2", "node0/gpu3"),
            (Stops{"node0/gpu2", "node0/pcie1", "node0/gpu3"}));
  EXPECT_EQ(only_route("pcie-8-bridged.yaml", "node0/gpu1", "node0/gpu2"),
            (Stops{"node0/gpu1", "node0/pcie0", "node0/cpu0", "node0/pcie1", "node0/gpu2"}));
}

TEST(Routing, NodesAreLeftAndEnteredByTheNearestNic) {
  EXPECT_EQ(only_route("dgx-h100-x4.yaml", "node0/gpu5", "node3/gpu5"),
            (Stops{"node0/gpu5", "node0/pcie5", "node0/nic5", "leaf5", "node3/nic5", "node3/pcie5",
                   "node3/gpu5"}));
  // Across rails it takes a spine; 8 leaves x 4 cables fit on one.
  EXPECT_EQ(only_route("dgx-h100-x4.yaml", "node0/gpu5", "node3/gpu6"),
            (Stops{"node0/gpu5", "node0/pcie5", "node0/nic5", "leaf5", "spine0", "leaf6",
                   "node3/nic6", "node3/pcie6", "node3/gpu6"}));
}

// On a DGX A100 GPUs 0 and 1 share a PCIe switch with NICs 0 and 1: each has one of its own.
TEST(Routing, GpusShareOutEquallyNearNics) {
  for (const char* gpu : {"0", "1", "6", "7"}) {
    const std::string from = std::string("node0/gpu") + gpu;
    const std::string to = std::string("node9/gpu") + gpu;
    const Stops route = only_route("dgx-a100-x16-rails-spine.yaml", from, to);
    ASSERT_EQ(route.size(), 7U);
    EXPECT_EQ(route[2], std::string("node0/nic") + gpu);
    EXPECT_EQ(route[3], std::string("rail") + gpu);
  }
}

// Without a spine, GPU 0 reaches GPU 1 of another node by rail 0 or rail 1, and crosses the host of
// the sender or of the receiver.
TEST(Routing, SeparateRailsAreChangedInsideANode) {
  const Topology topology = load_topology(shipped / "dgx-h100-x8-rails.yaml");
  Router router(topology);
  const auto routes =
      router.all_shortest(device(topology, "node0/gpu0"), device(topology, "node1/gpu1"));
  ASSERT_EQ(routes.size(), 2U);
  EXPECT_EQ(stops(topology, routes[0]),
            (Stops{"node0/gpu0", "node0/pcie0", "node0/nic0", "rail0", "node1/nic0", "node1/pcie0",
                   "node1/cpu0", "node1/pcie1", "node1/gpu1"}));
  EXPECT_EQ(stops(topology, routes[1]),
            (Stops{"node0/gpu0", "node0/pcie0", "node0/cpu0", "node0/pcie1", "node0/nic1", "rail1",
                   "node1/nic1", "node1/pcie1", "node1/gpu1"}));
}

/// `nodes` nodes of two GPUs on an NVSwitch, GPU i standing on rail i itself.
Topology bare_rails(std::uint32_t nodes) {
  TopologyBuilder builder("bare rails");
  const auto rate = gigabytes_per_second(50);
  Graph node;
  node.devices = {
      {"nvswitch0", DeviceKind::nvswitch}, {"gpu0", DeviceKind::gpu}, {"gpu1", DeviceKind::gpu}};
  node.links = {{1, 0, LinkKind::nvlink, 1, rate, {}}, {2, 0, LinkKind::nvlink, 1, rate, {}}};
  builder.add_nodes(node, nodes);
  for (DeviceId i = 0; i < 2; ++i) {
    const DeviceId rail =
        builder.add_device({"rail" + std::to_string(i), DeviceKind::network_switch});
    for (std::uint32_t n = 0; n < nodes; ++n) {
      builder.add_link(builder.node(n).first_device + 1 + i, rail, LinkKind::network, rate, {});
    }
  }
  return std::move(builder).build();
}

/// Nodes of one GPU and nothing else.
Graph lone_gpu() {
  Graph node;
  node.devices = {{"gpu0", DeviceKind::gpu}};
  return node;
}

TEST(Routing, AnotherGpuRelaysOnlyWhereNothingElseLeads) {
  const Topology topology = bare_rails(3);
  Router router(topology);
  EXPECT_EQ(
      stops(topology, router.route(device(topology, "node0/gpu0"), device(topology, "node1/gpu0"))),
      (Stops{"node0/gpu0", "rail0", "node1/gpu0"}));
  // By the GPU of the sender's node or the one of the receiver's.
  const auto routes =
      router.all_shortest(device(topology, "node0/gpu0"), device(topology, "node2/gpu1"));
  ASSERT_EQ(routes.size(), 2U);
  for (const Route& route : routes) EXPECT_EQ(route.links.size(), 4U);
}

// Three GPUs in a chain of cables: the middle one is the only way.
TEST(Routing, ChainOfGpusIsCrossed) {
  TopologyBuilder builder("chain");
  builder.add_nodes(lone_gpu(), 3);
  builder.add_link(0, 1, LinkKind::network, gigabytes_per_second(10), microseconds(1));
  builder.add_link(1, 2, LinkKind::network, gigabytes_per_second(5), microseconds(2));
  const Topology topology = std::move(builder).build();
  Router router(topology);
  EXPECT_EQ(router.route(0, 1).links, std::vector<LinkId>{0});
  const Route route = router.route(0, 2);
  EXPECT_EQ(route.links, (std::vector<LinkId>{0, 2}));
  EXPECT_DOUBLE_EQ(in_gigabytes_per_second(route.bandwidth), 5);
  EXPECT_DOUBLE_EQ(in_microseconds(route.latency), 3);
}

TEST(Routing, UnjoinedGpusAreAnInputError) {
  TopologyBuilder builder("apart");
  builder.add_nodes(lone_gpu(), 2);
  const Topology topology = std::move(builder).build();
  Router router(topology);
  EXPECT_THROW(router.route(0, 1), InputError);
}

// 16 leaves of 32 NICs with 32 cables up each: 8 spines of 64 ports, so 8 ways between leaves.
TEST(Routing, FlowsSpreadOverSpinesEvenlyAndRepeatably) {
  const Topology topology = load_topology(shipped / "dgx-h100-x64.yaml");
  const DeviceId from = device(topology, "node0/gpu0");
  const DeviceId to = device(topology, "node63/gpu0");
  Router router(topology);
  Router other(topology);
  const auto all = router.all_shortest(from, to);
  ASSERT_EQ(all.size(), 8U);
  std::vector<int> uses(all.size(), 0);
  for (std::uint64_t flow = 0; flow < 8000; ++flow) {
    const Route route = router.route(from, to, flow);
    ASSERT_EQ(route.links, other.route(from, to, flow).links);
    for (std::size_t i = 0; i < all.size(); ++i) uses[i] += all[i].links == route.links ? 1 : 0;
  }
  // 1000 each on average with a standard deviation of 30; 5 of them are 150.
  for (const int use : uses) EXPECT_NEAR(use, 1000, 150);
}

// Three levels: 32 spines of the own pod, then any of the 8 cores of that spine's group.
TEST(Routing, ThreeLevelsHaveAPathPerCore) {
  const Topology topology = load_topology(shipped / "dgx-h100-x2048.yaml");
  Router router(topology);
  const auto routes = router.all_shortest(topology.gpus().front(), topology.gpus()[16'384 - 8]);
  EXPECT_EQ(routes.size(), 256U);
  // gpu, pcie, nic, leaf, spine, core, spine, leaf, nic, pcie, gpu: 10 links.
  for (const Route& route : routes) EXPECT_EQ(route.links.size(), 10U);
}

class ShippedTopology : public testing::TestWithParam<std::string> {};

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(shipped)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().filename().string());
  }
  return names;
}

/// What holds for every route: it is a walk from one end to the other that visits nothing twice,
/// passes through no GPU, and sums up its links.
TEST_P(ShippedTopology, NeighboursAreJoinedByProperRoutes) {
  const Topology topology = load_topology(shipped / GetParam());
  Router router(topology);
  const auto gpus = topology.gpus();
  for (const std::size_t distance : {std::size_t{1}, gpus.size() / 2}) {
    // 511 is odd, so that all places of a node's eight GPUs have their turn.
    const std::size_t step = gpus.size() > 16'384 ? 511 : 1;
    for (std::size_t rank = 0; rank < gpus.size(); rank += step) {
      const DeviceId from = gpus[rank];
      const DeviceId to = gpus[(rank + distance) % gpus.size()];
      const Route route = router.route(from, to, rank);
      std::set<DeviceId> visited{from};
      DeviceId here = from;
      Seconds latency;
      for (const LinkId id : route.links) {
        const Link link = topology.link(id);
        ASSERT_EQ(link.from, here);
        here = link.to;
        ASSERT_TRUE(visited.insert(here).second);
        ASSERT_TRUE(here == to || topology.device(here).kind != DeviceKind::gpu);
        ASSERT_GE(link.bandwidth.value, route.bandwidth.value);
        latency += link.latency;
      }
      ASSERT_EQ(here, to);
      ASSERT_EQ(route.latency, latency);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Files, ShippedTopology, testing::ValuesIn(shipped_names()),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           for (char& c : name) c = std::isalnum(c) != 0 ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace collsim
