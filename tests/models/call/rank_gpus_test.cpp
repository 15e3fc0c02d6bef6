// Which GPUs ranks take where nobody says.

#include "models/call/rank_gpus.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "sim/topologies/loader.h"

namespace collsim::test {
namespace {

std::vector<std::size_t> of_each_node(const std::string& machine, Rank ranks) {
  const Topology topology =
      load_topology(std::string(COLLSIM_SOURCE_DIR) + "/topologies/" + machine + ".yaml");
  std::map<std::uint32_t, std::size_t> nodes;
  const Placement placement = placement_of(topology, first_gpus(topology, ranks));
  for (const std::uint32_t node : placement.node_of_rank) ++nodes[node];
  std::vector<std::size_t> counts;
  counts.reserve(nodes.size());
  for (const auto& [node, count] : nodes) counts.push_back(count);
  return counts;
}

using Counts = std::vector<std::size_t>;

// Racks of 72, as few as the ranks divide over: 1,024 would need 15, which do not divide them.
TEST(FirstGpus, fill_racks_alike) {
  EXPECT_EQ(of_each_node("gb300-nvl72-x4", 72), Counts{72});
  EXPECT_EQ(of_each_node("gb300-nvl72-x4", 128), (Counts{64, 64}));
  EXPECT_EQ(of_each_node("gb200-nvl72-x4", 192), (Counts{64, 64, 64}));
  EXPECT_EQ(of_each_node("gb200-nvl72-x20", 256), (Counts{64, 64, 64, 64}));
  EXPECT_EQ(of_each_node("gb200-nvl72-x20", 1024), Counts(16, 64));
  EXPECT_EQ(of_each_node("gb200-nvl72-x4", 73), (Counts{72, 1}));
}

TEST(FirstGpus, fill_hosts_one_after_the_other) {
  EXPECT_EQ(of_each_node("dgx-h100-x4", 12), (Counts{8, 4}));
  EXPECT_EQ(of_each_node("gh200-4-x64", 6), (Counts{4, 2}));
}

}  // namespace
}  // namespace collsim::test
