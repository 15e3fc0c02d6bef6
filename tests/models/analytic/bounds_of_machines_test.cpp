// Bounds look at the machine alone: not at the plan, and not at what a calibration says.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/analytic/bounds.h"

namespace collsim {
namespace {

constexpr Seconds none{0};

/// Two nodes of two GPUs; a GPU has 100 GB/s to its node's switch and PCIe of 12, 15.75 on the
/// wire; a node 10 GB/s to the network.
Topology two_nodes() {
  TopologyBuilder builder("two nodes");
  const DeviceId network = builder.add_device({"leaf", DeviceKind::network_switch, -1, ""});
  for (std::int32_t node = 0; node < 2; ++node) {
    const std::string prefix = "node" + std::to_string(node) + "/";
    const DeviceId nvswitch = builder.add_device({prefix + "sw", DeviceKind::nvswitch, node, ""});
    const DeviceId nic = builder.add_device({prefix + "nic", DeviceKind::nic, node, ""});
    for (int gpu = 0; gpu < 2; ++gpu) {
      const DeviceId device =
          builder.add_device({prefix + "gpu" + std::to_string(gpu), DeviceKind::gpu, node, ""});
      builder.add_link(device, nvswitch, LinkKind::nvlink, gigabytes_per_second(100), none);
      builder.add_link(device, nic, LinkKind::pcie, gigabytes_per_second(12), none);
    }
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
  Device hub{"node0/sw", DeviceKind::nvswitch, 0, ""};
  hub.reduces = reduces;
  const DeviceId nvswitch = builder.add_device(hub);
  for (Rank i = 0; i < gpus; ++i) {
    const DeviceId gpu =
        builder.add_device({"node0/gpu" + std::to_string(i), DeviceKind::gpu, 0, ""});
    builder.add_link(gpu, nvswitch, LinkKind::nvlink, gigabytes_per_second(10), none);
  }
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
    const DeviceId network = builder.add_device({"leaf", DeviceKind::network_switch, -1, ""});
    for (std::int32_t node = 0; node < 3; ++node) {
      const std::string prefix = "node" + std::to_string(node) + "/";
      Device nvlink{prefix + "sw", DeviceKind::nvswitch, node, ""};
      nvlink.reduces = nvlink_reduces;
      const DeviceId nvswitch = builder.add_device(nvlink);
      const DeviceId gpu = builder.add_device({prefix + "gpu0", DeviceKind::gpu, node, ""});
      builder.add_link(gpu, nvswitch, LinkKind::nvlink, gigabytes_per_second(100), none);
      builder.add_link(nvswitch, network, LinkKind::network, gigabytes_per_second(10), none);
    }
    if (network_reduces) builder.let_network_reduce();
    return std::move(builder).build();
  };
  EXPECT_NEAR(bandwidth_bound(three_nodes(true, false), 3, all_reduce, size), 40.0 / 3, 1e-9);
  EXPECT_NEAR(bandwidth_bound(three_nodes(false, true), 3, all_reduce, size), 10, 1e-9);
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

TEST(Bounds, have_pcie_at_its_line_rate) {
  const auto rate = [](LinkKind kind, double bandwidth) {
    Link link;
    link.kind = kind;
    link.bandwidth = gigabytes_per_second(bandwidth);
    return in_gigabytes_per_second(line_rate(link));
  };
  EXPECT_NEAR(rate(LinkKind::pcie, 12), 15.75, 1e-9);
  EXPECT_NEAR(rate(LinkKind::pcie, 48), 63, 1e-9);
  EXPECT_NEAR(rate(LinkKind::nvlink, 25), 25, 1e-9);
}

}  // namespace
}  // namespace collsim
