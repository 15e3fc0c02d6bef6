#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/routing/routing.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

Topology dragonfly(int nodes, const std::string& shape) {
  return read_topology(
      {"dragonfly", fmt::format("collsim: topology/1\n"
                                "name: dragonfly\n"
                                "nodes: {{ count: {}, devices: [{{ id: gpu0, kind: "
                                "gpu }}] }}\n"
                                "fabric:\n"
                                "  kind: dragonfly\n"
                                "  attach: gpu\n"
                                "  link: {{ bandwidth: 10 GB/s, latency: 1 us }}\n"
                                "{}",
                                nodes, shape)});
}

std::size_t routers(const Topology& topology) {
  return topology.devices().size() - topology.gpus().size();
}

/// GB/s from routers first..first+count-1 to others than these and GPUs.
double leaving(const Topology& topology, std::size_t first, std::size_t count) {
  const auto inside = [&](DeviceId id) {
    const std::size_t router = id - topology.gpus().size();
    return id >= topology.gpus().size() && router >= first && router < first + count;
  };
  double sum = 0;
  for (const Link link : topology.links()) {
    if (inside(link.from) && !inside(link.to) && topology.node_of(link.to) < 0) {
      sum += in_gigabytes_per_second(link.bandwidth);
    }
  }
  return sum;
}

// p = 2, a = 3, h = 2: 18 ends are 9 routers in 3 groups. A group has 3 x 2 = 6 global cables, 3 to
// each of the other two.
TEST(Dragonfly, GroupsAreFullyJoinedAndShareTheirGlobalCables) {
  const Topology topology = dragonfly(18, "  ports: 2\n  routers: 3\n  global_ports: 2\n");
  EXPECT_EQ(routers(topology), 9U);
  // 18 cables of ends; 3 in each group; 3 between each of 3 pairs of groups.
  EXPECT_EQ(topology.links().size() / 2, 18U + 9 + 9);
  for (const std::size_t group : {0U, 1U, 2U}) {
    EXPECT_DOUBLE_EQ(leaving(topology, 3 * group, 3), 60);
    // Every router has its two global cables and one to each of the other two of its group.
    for (std::size_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(leaving(topology, 3 * group + i, 1), 40);
  }
}

// Nodes of two GPUs, two ends on a router: the first GPUs of nodes 0 and 1 share a router, the
// second GPUs another, and nodes 2 and 3 have the next two routers.
TEST(Dragonfly, RailsPutTheEndsOfANodeOnRoutersOfTheirOwn) {
  const Topology topology =
      read_topology({"rails",
                     "collsim: topology/1\nname: rails\n"
                     "nodes: { count: 4, devices: [{ id: \"gpu[0..1]\", kind: gpu }] }\n"
                     "fabric: { kind: dragonfly, attach: gpu, ports: 2, rail_optimised: true,\n"
                     "          link: { bandwidth: 10 GB/s, latency: 1 us } }\n"});
  EXPECT_EQ(routers(topology), 4U);
  Router router(topology);
  const auto links = [&](std::size_t from, std::size_t to) {
    return router.route(topology.gpus()[from], topology.gpus()[to]).links.size();
  };
  EXPECT_EQ(links(0, 2), 2U);  // first GPUs of nodes 0 and 1
  EXPECT_EQ(links(1, 3), 2U);
  EXPECT_EQ(links(0, 1), 3U);  // both of node 0
  EXPECT_EQ(links(0, 4), 3U);  // first GPUs of nodes 0 and 2
}

TEST(Dragonfly, RoutesTakeOneGlobalCableAtMostAndTheFewestLinks) {
  const Topology topology = dragonfly(18, "  ports: 2\n  routers: 3\n  global_ports: 2\n");
  Router router(topology);
  const auto links = [&](std::size_t from, std::size_t to) {
    return router.route(topology.gpus()[from], topology.gpus()[to]).links.size();
  };
  EXPECT_EQ(links(0, 1), 2U);  // the same router
  EXPECT_EQ(links(0, 2), 3U);  // the same group
  std::size_t longest = 0;
  for (std::size_t from = 0; from < 18; ++from) {
    for (std::size_t to = 6; to < 18; ++to) {
      if (from / 6 == to / 6) continue;
      EXPECT_GE(links(from, to), 3U);
      longest = std::max(longest, links(from, to));
    }
  }
  EXPECT_LE(longest, 5U);  // end, local, global, local, end
}

// Two groups of two routers with five global ports each: ten cables on two trunks.
TEST(Dragonfly, CablesBetweenTheSameRoutersAreOneTrunk) {
  const Topology topology = dragonfly(8, "  ports: 2\n  routers: 2\n  global_ports: 5\n");
  EXPECT_EQ(topology.links().size() / 2, 8U + 2 + 2);
  EXPECT_DOUBLE_EQ(leaving(topology, 0, 2), 100);
}

TEST(Dragonfly, LocalCablesCanBeSeveral) {
  const Topology topology = dragonfly(4, "  ports: 2\n  routers: 2\n  local_cables: 3\n");
  EXPECT_EQ(routers(topology), 2U);
  EXPECT_DOUBLE_EQ(leaving(topology, 0, 1), 30);
}

TEST(Dragonfly, OneRouterIsEnoughForFewEnds) {
  const Topology topology = dragonfly(3, "  ports: 4\n");
  EXPECT_EQ(routers(topology), 1U);
  EXPECT_EQ(topology.links().size() / 2, 3U);
}

// The last group is as large as the others, though it has fewer ends: 5 routers used, 6 there.
TEST(Dragonfly, GroupsAreEqual) {
  const Topology topology = dragonfly(10, "  ports: 2\n  routers: 3\n");
  EXPECT_EQ(routers(topology), 6U);
}

}  // namespace
}  // namespace collsim
