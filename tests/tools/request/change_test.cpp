// What changes make of a machine.

#include "tools/collsim/request/change.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "models/imports/node_list.h"
#include "sim/base/input_error.h"

namespace collsim {
namespace {

double rate_between(const Topology& topology, bool ends) {
  double sum = 0;
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); id += 2) {
    const Link link = topology.link(id);
    if ((topology.node_of(link.from) >= 0) == ends) sum += link.bandwidth.value;
  }
  return sum;
}

std::ptrdiff_t count(const Topology& topology, DeviceKind kind) {
  const auto devices = topology.devices();
  return std::count_if(devices.begin(), devices.end(),
                       [kind](const Device& device) { return device.kind == kind; });
}

TEST(Change, composes_a_shipped_cluster_of_its_parts) {
  // Ends of 64 x 8 NICs at 50 GB/s. 16 leaves of 32 ends, full bisection: as much between switches.
  const Topology topology = compose(load_parts("dgx-h100"), 64);
  EXPECT_EQ(topology.gpus().size(), 512U);
  EXPECT_NEAR(rate_between(topology, true), 512 * 50e9, 1);
  EXPECT_NEAR(rate_between(topology, false), 512 * 50e9, 1e3);
  EXPECT_EQ(calibration_for(topology).name, "h100+ib");
}

TEST(Change, of_nics_changes_their_cables) {
  const MachineParts parts = load_parts("dgx-h100");
  const Topology slow = compose(changed(parts, "nic=200Gb/s"), 64);
  EXPECT_NEAR(rate_between(slow, true), 512 * 25e9, 1);
  EXPECT_NEAR(rate_between(slow, false), 512 * 25e9, 1e3);
  const Topology few = compose(changed(parts, "nics=2"), 4);
  EXPECT_EQ(count(few, DeviceKind::nic), 8);
  EXPECT_TRUE(few.find_device("node0/nic4").has_value());  // 0 and 4 of 0 to 7
}

TEST(Change, of_the_fabric_changes_what_is_above_leaves) {
  const MachineParts parts = load_parts("dgx-h100");
  const Topology thin = compose(changed(parts, "oversubscription=4"), 64);
  EXPECT_NEAR(rate_between(thin, false), 512 * 50e9 / 4, 1e3);
  const Topology tcp = compose(changed(parts, "fabric=ethernet-100g"), 4);
  EXPECT_NEAR(rate_between(tcp, true), 32 * 12.5e9, 1);
  EXPECT_EQ(calibration_for(tcp).name, "h100+tcp");
  const Topology roce = compose(changed(parts, "fabric=roce-400g"), 4);
  EXPECT_EQ(calibration_for(roce).name, "h100+roce");
}

TEST(Change, of_the_inside_takes_nvlink_away) {
  const Topology cards = compose(changed(load_parts("dgx-h100"), "inside=pcie4"), 2);
  EXPECT_EQ(count(cards, DeviceKind::nvswitch), 0);
  EXPECT_EQ(calibration_for(cards).name, "pcie+ib");
  for (const Link link : cards.links()) {
    EXPECT_NE(link.kind, LinkKind::nvlink);
    if (link.kind == LinkKind::pcie) {
      EXPECT_DOUBLE_EQ(link.bandwidth.value, 24e9);
    }
  }
}

TEST(Change, of_the_placement_takes_a_node_of_each_leaf_in_turn) {
  // Packed leaves of 32 ends: nodes 0 to 3 on the first, 4 to 7 on the second.
  const MachineParts parts = load_parts("dgx-h100", "ndr-fat-tree");
  const Topology topology = compose(parts, 8);
  const auto gpus = placed_gpus(topology, NodePlacement::interleaved);
  std::string nodes;
  for (std::size_t i = 0; i < gpus.size(); i += 8)
    nodes += std::to_string(topology.node_of(gpus[i]));
  EXPECT_EQ(nodes, "04152637");
}

TEST(Change, of_the_placement_draws_an_order_that_stays) {
  const Topology topology = compose(load_parts("dgx-h100", "ndr-fat-tree"), 8);
  const auto gpus = placed_gpus(topology, NodePlacement::random);
  EXPECT_EQ(gpus, placed_gpus(topology, NodePlacement::random));
  EXPECT_NE(gpus, placed_gpus(topology, NodePlacement::packed));
  // All GPUs of a node stay together.
  std::set<std::int32_t> nodes;
  for (std::size_t i = 0; i < gpus.size(); i += 8) {
    nodes.insert(topology.node_of(gpus[i]));
    for (std::size_t j = 1; j < 8; ++j) {
      EXPECT_EQ(topology.node_of(gpus[i + j]), topology.node_of(gpus[i]));
    }
  }
  EXPECT_EQ(nodes.size(), 8U);
}

std::vector<std::int32_t> nodes_of(const Topology& topology, const std::vector<DeviceId>& gpus) {
  std::vector<std::int32_t> nodes;
  for (std::size_t i = 0; i < gpus.size(); i += 8) nodes.push_back(topology.node_of(gpus[i]));
  return nodes;
}

// The job has 4 nodes of a cluster that is as large as the highest number needs: 10 nodes.
TEST(Change, of_the_placement_names_the_nodes_of_a_job) {
  const MachineParts parts = changed(load_parts("dgx-h100", "ndr-fat-tree"),
                                     "placement=list:node[8-9],node0,node4,nics=4");
  EXPECT_EQ(parts.listed, (std::vector<std::uint32_t>{8, 9, 0, 4}));
  EXPECT_EQ(nodes_around(parts, 2), 10U);
  const Topology topology = compose(parts, nodes_around(parts, 4));
  const auto gpus = job_gpus(topology, parts, 4);
  EXPECT_EQ(gpus.size(), 32U);
  EXPECT_EQ(nodes_of(topology, gpus), (std::vector<std::int32_t>{8, 9, 0, 4}));
  EXPECT_EQ(nodes_of(topology, job_gpus(topology, parts, 3)), (std::vector<std::int32_t>{8, 9, 0}));
  EXPECT_THROW(nodes_around(parts, 5), InputError);
  EXPECT_THROW(nodes_around(changed(parts, "beside=dgx-a100:1"), 2), InputError);
  // A cluster of 16 nodes stays as it is.
  const MachineParts cluster = changed(load_parts("dgx-h100-x16"), "placement=list:node[0,4]");
  EXPECT_EQ(nodes_around(cluster, 2), 16U);
  EXPECT_TRUE(keeps_nodes("placement=list:node0,node4"));
  EXPECT_FALSE(keeps_nodes("placement=list:node0,node4,nics=4"));
}

std::string wrong_list(const std::string& list) {
  try {
    changed(load_parts("dgx-h100-x16"), fmt::format("placement={}", list));
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(Change, refuses_lists_of_what_is_no_node) {
  EXPECT_NE(wrong_list("list:node[0,16]").find("'dgx-h100-x16' has no node16; node0 to node15"),
            std::string::npos);
  EXPECT_NE(wrong_list("list:node0,node0").find("node0 occurs twice"), std::string::npos);
  EXPECT_NE(wrong_list("list:node[3-1]").find("the range 3-1 of 'node[3-1]' falls"),
            std::string::npos);
  for (const char* const list :
       {"list:", "list:rack1", "list:node", "list:node1-3", "list:node[1", "list:node[]",
        "list:node[1,]", "list:node[1-2-3]", "list:node[1]2", "list:3", "list:node99999999999",
        "file:no-such-file"}) {
    EXPECT_NE(wrong_list(list), "none") << list;
  }
}

TEST(Change, reads_lists_of_nodes_from_files) {
  const std::string text = "# as `scontrol show hostnames` prints them\nnode004\nnode[1-2] node7\n";
  EXPECT_EQ(read_node_list({"hosts", text}), (std::vector<std::uint32_t>{4, 1, 2, 7}));
  try {
    read_node_list({"hosts", "node1\nnode2, gpu3\n"});
    ADD_FAILURE();
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("hosts:2:8: 'gpu3' names no node; ", 0), 0U)
        << error.what();
  }
}

TEST(Change, puts_nodes_of_another_kind_beside_the_others) {
  const Topology mixed = compose(changed(load_parts("dgx-h100"), "beside=dgx-a100:2"), 3);
  EXPECT_EQ(mixed.node_count(), 5U);
  ASSERT_EQ(mixed.gpus().size(), 40U);
  const auto model_of = [&](std::size_t rank) {
    return std::string(mixed.device(mixed.gpus()[rank]).model);
  };
  EXPECT_NE(model_of(23).find("H100"), std::string::npos);
  EXPECT_NE(model_of(24).find("A100"), std::string::npos);
}

TEST(Change, gives_large_fat_trees_a_third_level) {
  // 32 ports down and as many up: two levels have 2 * 32 * 32 = 2,048 ends, which 256 nodes fill.
  const MachineParts parts = load_parts("dgx-h100", "ndr-fat-tree");
  EXPECT_FALSE(compose(parts, 256).find_device("core0").has_value());
  EXPECT_TRUE(compose(parts, 512).find_device("core0").has_value());
}

TEST(Change, that_cannot_be_is_refused) {
  const MachineParts parts = load_parts("dgx-h100");
  for (const char* const wrong :
       {"nic=fast", "nics=9", "nics=0", "oversubscription=0", "inside=isa", "placement=sideways",
        "beside=dgx-a100", "beside=dgx-a100:0", "beside=:4", "colour=red", "nic", "fabric=nothing",
        "fabric=ethernet-100g,oversubscription=2"}) {
    EXPECT_THROW(changed(parts, wrong), InputError) << wrong;
  }
  EXPECT_THROW(load_parts("dgx-h1000"), InputError);
  EXPECT_THROW(load_parts("dgx-h100-x8-4-1"), InputError);       // drawn by hand
  EXPECT_THROW(compose(load_parts("hgx-h800"), 2), InputError);  // without a fabric
}

}  // namespace
}  // namespace collsim
