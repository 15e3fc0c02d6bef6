// Bounds look at the machine alone: not at the plan, and not at what a calibration says.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/bounds/bounds.h"

namespace collsim {
namespace {

constexpr Seconds none{0};

/// Two nodes of two GPUs; a GPU has 100 GB/s to its node's switch and PCIe of 12, 15.75 on the
/// wire; a node 10 GB/s to the network.
Topology two_nodes() {
  TopologyBuilder builder("two nodes");
  Graph inside;
  inside.devices = {{"sw", DeviceKind::nvswitch},
                    {"nic", DeviceKind::nic},
                    {"gpu0", DeviceKind::gpu},
                    {"gpu1", DeviceKind::gpu}};
  for (const std::uint32_t gpu : {2U, 3U}) {
    inside.links.push_back({gpu, 0, LinkKind::nvlink, 1, gigabytes_per_second(100), none});
    inside.links.push_back({gpu, 1, LinkKind::pcie, 1, gigabytes_per_second(15.75), none});
  }
  builder.add_nodes(inside, 2);
  const DeviceId network = builder.add_device({"leaf", DeviceKind::network_switch});
  for (std::uint32_t node = 0; node < 2; ++node) {
    const DeviceId nic = builder.node(node).first_device + 1;
    builder.add_link(nic, network, LinkKind::network, gigabytes_per_second(10), microseconds(0.5));
  }
  return std::move(builder).build();
}

double bandwidth_bound(const Topology& topology, Rank ranks, Collective collective, Bytes size) {
  const MachineBounds bounds(topology, topology.gpus().first(ranks), collective);
  return in_microseconds(bounds.of(size).bandwidth);
}

// 1,157,500 bytes. Within a node, 2 (N-1)/N = 1 times that through 100 + 15.75 GB/s. Across two
// nodes the same through 10 GB/s.
TEST(Bounds, of_an_all_reduce_are_of_the_narrowest_of_gpus_and_nodes) {
  const Bytes size{1157500};
  EXPECT_NEAR(bandwidth_bound(two_nodes(), 2, Collective::all_reduce, size), 10, 1e-9);
  EXPECT_NEAR(bandwidth_bound(two_nodes(), 4, Collective::all_reduce, size), 115.75, 1e-9);
}

/// GPUs on one switch, 10 GB/s each way.
Topology star(Rank gpus, bool reduces) {
  TopologyBuilder builder("star");
  Graph node;
  node.devices = {{"sw", DeviceKind::nvswitch}};
  node.devices.front().reduces = reduces;
  for (Rank i = 1; i <= gpus; ++i) {
    node.devices.push_back({"gpu" + std::to_string(i - 1), DeviceKind::gpu});
    node.links.push_back({i, 0, LinkKind::nvlink, 1, gigabytes_per_second(10), none});
  }
  builder.add_nodes(node, 1);
  return std::move(builder).build();
}

// Where only GPUs add up, all of the 8 ports carry 2 x 7 times the data: 14/8 of 80,000 bytes at 10
// GB/s. A switch that adds up lets each port carry them once. A broadcast goes into each port once,
// either way.
TEST(Bounds, of_an_all_reduce_are_lower_where_switches_add_up) {
  const Bytes size{80000};
  EXPECT_NEAR(bandwidth_bound(star(8, false), 8, Collective::all_reduce, size), 14, 1e-9);
  EXPECT_NEAR(bandwidth_bound(star(8, true), 8, Collective::all_reduce, size), 8, 1e-9);
  EXPECT_NEAR(bandwidth_bound(star(8, false), 8, Collective::broadcast, size), 8, 1e-9);
}

// NVSwitches that add up spare the network nothing: three nodes of one GPU send and get 4/3.
TEST(Bounds, look_at_network_switches_between_nodes_and_at_all_switches_between_gpus) {
  constexpr Collective all_reduce = Collective::all_reduce;
  const Bytes size{100000};
  const auto three_nodes = [](bool nvlink_reduces, bool network_reduces) {
    TopologyBuilder builder("three nodes");
    Graph inside;
    inside.devices = {{"sw", DeviceKind::nvswitch}, {"gpu0", DeviceKind::gpu}};
    inside.devices.front().reduces = nvlink_reduces;
    inside.links = {{1, 0, LinkKind::nvlink, 1, gigabytes_per_second(100), none}};
    builder.add_nodes(inside, 3);
    const DeviceId network = builder.add_device({"leaf", DeviceKind::network_switch});
    for (std::uint32_t node = 0; node < 3; ++node) {
      builder.add_link(builder.node(node).first_device, network, LinkKind::network,
                       gigabytes_per_second(10), none);
    }
    if (network_reduces) builder.let_network_reduce();
    return std::move(builder).build();
  };
  EXPECT_NEAR(bandwidth_bound(three_nodes(true, false), 3, all_reduce, size), 40.0 / 3, 1e-9);
  EXPECT_NEAR(bandwidth_bound(three_nodes(false, true), 3, all_reduce, size), 10, 1e-9);
}

/// Two nodes of two GPUs, each with a NIC of 10 GB/s of its own; a GPU has a PCIe link of `pcie`
/// GB/s to its NIC's switch, 100 GB/s to the other GPU, and the switches meet at a CPU.
Topology two_nodes_of_own_nics(double pcie) {
  TopologyBuilder builder("two nodes");
  Graph inside;
  inside.devices = {{"nvswitch", DeviceKind::nvswitch}, {"cpu", DeviceKind::cpu}};
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    const std::string number = std::to_string(gpu);
    const auto first = static_cast<std::uint32_t>(inside.devices.size());
    inside.devices.push_back({"gpu" + number, DeviceKind::gpu});
    inside.devices.push_back({"pcie" + number, DeviceKind::pcie_switch});
    inside.devices.push_back({"nic" + number, DeviceKind::nic});
    const BytesPerSecond rate = gigabytes_per_second(pcie);
    inside.links.push_back({first, 0, LinkKind::nvlink, 1, gigabytes_per_second(100), none});
    for (const std::uint32_t from : {first, first + 2}) {
      inside.links.push_back({from, first + 1, LinkKind::pcie, 1, rate, none});
    }
    inside.links.push_back({first + 1, 1, LinkKind::pcie, 1, rate, none});
  }
  builder.add_nodes(inside, 2);
  const DeviceId network = builder.add_device({"leaf", DeviceKind::network_switch});
  for (std::uint32_t node = 0; node < 2; ++node) {
    for (const DeviceId nic : {4U, 7U}) {
      builder.add_link(builder.node(node).first_device + nic, network, LinkKind::network,
                       gigabytes_per_second(10), none);
    }
  }
  return std::move(builder).build();
}

double bound_of(const Topology& topology, const std::vector<Rank>& places, Collective collective) {
  std::vector<DeviceId> gpus;
  gpus.reserve(places.size());
  for (const Rank place : places) gpus.push_back(topology.gpus()[place]);
  const MachineBounds bounds(topology, gpus, collective);
  return in_microseconds(bounds.of(Bytes{100000}).bandwidth);
}

// Of M = 2 nodes each sends 2(M-1)/M = 1 times 100,000 bytes. All four GPUs have two NICs per node:
// 5 us. Of one GPU per node the other GPU's NIC is idle: a PCIe of 12.6 GB/s, of which NCCL counts
// 12 / 15.75, 9.6, is full by its own NIC of 10 GB/s: 10 us.
TEST(Bounds, count_no_nics_beside_gpus_that_take_no_part) {
  const Topology narrow = two_nodes_of_own_nics(12.6);
  EXPECT_NEAR(bound_of(narrow, {0, 1, 2, 3}, Collective::all_reduce), 5, 1e-9);
  EXPECT_NEAR(bound_of(narrow, {0, 2}, Collective::all_reduce), 10, 1e-9);
}

// A PCIe of 15.75 GB/s, 12 as NCCL counts, is not full by a NIC of 10: NCCL's search may add a
// channel over the other one. What 20 GB/s of NICs could carry does not fit through 15.75.
TEST(Bounds, count_farther_nics_that_a_gpu_has_room_for) {
  EXPECT_NEAR(bound_of(two_nodes_of_own_nics(15.75), {0, 2}, Collective::all_reduce), 100 / 15.75,
              1e-9);
}

// Rank 1 sends to rank 2 in the other node, and rank 3 to rank 0: each message enters by the NIC of
// its receiver, though the other one of the node has nothing to do. 100,000 bytes at 10 GB/s.
TEST(Bounds, of_a_message_are_of_the_nics_of_its_receiver) {
  const Topology topology = two_nodes_of_own_nics(12.6);
  EXPECT_NEAR(bound_of(topology, {0, 1, 2, 3}, Collective::send_recv), 10, 1e-9);
}

/// Three GPUs, each with 100 GB/s to both others, or in a chain without the link of the first to
/// the last.
Topology three_gpus(bool all_joined) {
  TopologyBuilder builder("three");
  Graph node;
  for (const char* const name : {"gpu0", "gpu1", "gpu2"}) {
    node.devices.push_back({name, DeviceKind::gpu});
  }
  node.links = {{0, 1, LinkKind::nvlink, 1, gigabytes_per_second(100), none},
                {1, 2, LinkKind::nvlink, 1, gigabytes_per_second(100), none}};
  if (all_joined) {
    node.links.push_back({0, 2, LinkKind::nvlink, 1, gigabytes_per_second(100), none});
  }
  builder.add_nodes(node, 1);
  return std::move(builder).build();
}

// Two of three GPUs have one link to each other: 2(N-1)/N = 1 times 100,000 bytes at 100 GB/s. All
// three have two links each: 4/3 of them at 200 GB/s. GPUs at the ends of a chain have no other way
// than the GPU between them, whether it takes part or not.
TEST(Bounds, count_no_links_to_gpus_that_take_no_part) {
  EXPECT_NEAR(bound_of(three_gpus(true), {0, 1}, Collective::all_reduce), 1, 1e-9);
  EXPECT_NEAR(bound_of(three_gpus(true), {0, 1, 2}, Collective::all_reduce), 2.0 / 3, 1e-9);
  EXPECT_NEAR(bound_of(three_gpus(false), {0, 2}, Collective::all_reduce), 1, 1e-9);
}

// GPU, NIC, leaf, NIC, GPU: two cables of 0.5 us. 20 broadcasts in a row may overlap; all-reduces
// wait for everybody.
TEST(Bounds, of_latency_are_the_way_to_the_farthest_rank) {
  const Topology topology = two_nodes();
  const auto latency = [&](Rank ranks, Collective collective, std::uint32_t calls, Bytes size) {
    const MachineBounds bounds(topology, topology.gpus().first(ranks), collective, 0, calls);
    return in_microseconds(bounds.of(size).latency);
  };
  EXPECT_NEAR(latency(4, Collective::all_reduce, 20, Bytes{4}), 1, 1e-9);
  EXPECT_NEAR(latency(4, Collective::broadcast, 20, Bytes{4}), 0.05, 1e-9);
  EXPECT_NEAR(latency(4, Collective::barrier, 1, Bytes{0}), 1, 1e-9);
  EXPECT_EQ(latency(4, Collective::all_reduce, 1, Bytes{0}), 0) << "nothing moves";
  EXPECT_EQ(latency(2, Collective::all_reduce, 1, Bytes{4}), 0);
}

}  // namespace
}  // namespace collsim
