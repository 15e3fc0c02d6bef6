// What flows get from a fabric by the way in which it routes: loads of cables, by hand.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sim/routing/routing.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/reduced_topology.h"

namespace collsim {
namespace {

Topology cluster(int nodes, const std::string& fabric) {
  return read_topology({"cluster", fmt::format("collsim: topology/1\n"
                                               "name: cluster\n"
                                               "nodes: {{ count: {}, devices: [{{ id: gpu0, kind: "
                                               "gpu }}] }}\n"
                                               "fabric:\n"
                                               "  attach: gpu\n"
                                               "  link: {{ bandwidth: 10 GB/s, latency: 1 us }}\n"
                                               "{}",
                                               nodes, fabric)});
}

/// Four groups of two routers with an end each, one cable between every two groups. Six cables
/// between the routers of a group never limit.
Topology four_groups(const std::string& routing) {
  return cluster(8,
                 "  kind: dragonfly\n  ports: 1\n  routers: 2\n  local_cables: 6\n"
                 "  global_ports: 2\n  routing: " +
                     routing + "\n");
}

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// By how many times the busiest link is overfilled if every flow runs at the rate of its port, one
/// flow of every pair after the other.
double worst_load(const Topology& topology, const Pairs& pairs, std::uint64_t flow = 0) {
  Router router(topology);
  std::map<LinkId, double> flows;
  for (const auto& [from, to] : pairs) {
    for (const LinkId id : router.route(topology.gpus()[from], topology.gpus()[to], flow).links) {
      ++flows[id];
    }
  }
  double worst = 0;
  for (const auto& [id, count] : flows) {
    worst = std::max(worst, count * 10 / in_gigabytes_per_second(topology.link(id).bandwidth));
  }
  return worst;
}

Pairs each_to_the_next_group() {
  Pairs pairs;
  for (std::size_t end = 0; end < 8; ++end) pairs.emplace_back(end, (end + 2) % 8);
  return pairs;
}

// Minimal: both flows of a group share its one cable to the next. Adaptive: one goes over another
// group. Eight flows then cross 4 + 2 x 4 = 12 cables, as many as there are from group to group,
// one each: all run at full rate.
TEST(AdaptiveRouting, a_permutation_of_groups_goes_over_other_groups) {
  EXPECT_DOUBLE_EQ(worst_load(four_groups("minimal"), each_to_the_next_group()), 2);
  EXPECT_DOUBLE_EQ(worst_load(four_groups("adaptive"), each_to_the_next_group()), 1);
}

// Groups of three routers: three flows from one group to another share their one cable, or go one
// by it and one over each of the other two groups.
TEST(AdaptiveRouting, one_pair_of_groups_has_all_others_to_itself) {
  const auto groups = [](const std::string& routing) {
    return cluster(12,
                   "  kind: dragonfly\n  ports: 1\n  routers: 3\n  local_cables: 6\n"
                   "  global_ports: 1\n  routing: " +
                       routing + "\n");
  };
  const Pairs pairs{{0, 3}, {1, 4}, {2, 5}};
  EXPECT_DOUBLE_EQ(worst_load(groups("minimal"), pairs), 3);
  EXPECT_DOUBLE_EQ(worst_load(groups("adaptive"), pairs), 1);
}

// Where cables suffice, the way is the shortest: one flow from each group to the next.
TEST(AdaptiveRouting, nobody_leaves_the_shortest_way_without_need) {
  const Topology adaptive = four_groups("adaptive");
  const Topology minimal = four_groups("minimal");
  Router router(adaptive);
  Router shortest(minimal);
  for (std::size_t end = 0; end < 8; end += 2) {
    const DeviceId from = adaptive.gpus()[end];
    const DeviceId to = adaptive.gpus()[(end + 2) % 8];
    EXPECT_EQ(router.route(from, to).links.size(), shortest.route(from, to).links.size());
  }
}

TEST(AdaptiveRouting, a_flow_keeps_its_way) {
  const Topology topology = four_groups("adaptive");
  Router router(topology);
  std::vector<std::vector<LinkId>> ways;
  for (const auto& [from, to] : each_to_the_next_group()) {
    ways.push_back(router.route(topology.gpus()[from], topology.gpus()[to], 3).links);
  }
  for (const auto& [from, to] : each_to_the_next_group()) {
    EXPECT_EQ(router.route(topology.gpus()[from], topology.gpus()[to], 3).links, ways[from]);
  }
}

TEST(AdaptiveRouting, a_topology_without_some_links_still_adapts) {
  const Topology topology = four_groups("adaptive");
  EXPECT_TRUE(
      without_links(topology, std::vector<bool>(topology.links().size())).topology.takes_detours());
}

Topology two_leaves(const std::string& routing) {
  return cluster(8, "  kind: fat_tree\n  ports: 4\n  spines: 4\n  routing: " + routing + "\n");
}

Pairs each_to_the_other_leaf() {
  return {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
}

// Of four flows that choose among four cables each by itself, 4^4 = 256 ways to choose:
//   all apart 4! = 24, all on one 4, three on one C(4,3) 4 3 = 48, else two at most: 180.
// The mean of the worst is (24 + 2 180 + 3 48 + 4 4) / 256 = 2.125 on the way up. They go down from
// where they came up: each spine has one cable to the other leaf, with the same flows.
TEST(FatTreeRouting, flows_that_choose_by_hash_collide) {
  const Topology topology = two_leaves("ecmp");
  double sum = 0;
  constexpr int calls = 4000;
  for (int flow = 0; flow < calls; ++flow) {
    sum += worst_load(topology, each_to_the_other_leaf(), static_cast<std::uint64_t>(flow));
  }
  EXPECT_NEAR(sum / calls, 2.125, 0.04);  // four standard errors: 0.64 / sqrt(4000) = 0.01
}

// Each has a quarter of every cable: all together fill them.
TEST(FatTreeRouting, flows_that_adapt_share_all_cables_evenly) {
  const Topology topology = two_leaves("adaptive");
  for (std::uint64_t flow = 0; flow < 8; ++flow) {
    EXPECT_DOUBLE_EQ(worst_load(topology, each_to_the_other_leaf(), flow), 1);
  }
}

// Three levels: 16 ends, leaves of two, pods of two leaves, 2:1 from the leaves upwards. A leaf has
// one cable up, a pod's two leaves have 2, and the cores as many for every pod. Four flows from a
// pod to the next share two cables.
TEST(FatTreeRouting, cores_are_shared_evenly_too) {
  const Topology topology =
      cluster(16,
              "  kind: fat_tree\n  levels: 3\n  ports: 2\n  pod_leaves: 2\n  routing: adaptive\n"
              "  oversubscription: 2\n");
  EXPECT_DOUBLE_EQ(worst_load(topology, each_to_the_other_leaf()), 2);
}

TEST(RailRouting, spines_are_shared_evenly) {
  const auto rails = [](const std::string& routing) {
    return read_topology({"rails",
                          "collsim: topology/1\n"
                          "name: rails\n"
                          "nodes: { count: 4, devices: [{ id: \"gpu[0..1]\", kind: gpu }] }\n"
                          "fabric:\n"
                          "  kind: rails\n"
                          "  attach: gpu\n"
                          "  spines: 4\n"
                          "  link: { bandwidth: 10 GB/s, latency: 1 us }\n"
                          "  routing: " +
                              routing + "\n"});
  };
  // From GPU 0 of each node to GPU 1 of the next.
  const Pairs pairs{{0, 3}, {2, 5}, {4, 7}, {6, 1}};
  EXPECT_DOUBLE_EQ(worst_load(rails("adaptive"), pairs), 1);
  EXPECT_GT(worst_load(rails("ecmp"), pairs), 1);
}

}  // namespace
}  // namespace collsim
