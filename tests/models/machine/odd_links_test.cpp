#include "models/machine/odd_links.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace collsim::test {
namespace {

using Sentences = std::vector<std::string>;

std::uint32_t add(Graph& graph, DeviceKind kind, const std::string& name,
                  const std::string& model = {}) {
  GraphDevice device;
  device.name = name;
  device.kind = kind;
  device.model = model;
  graph.devices.push_back(device);
  return static_cast<std::uint32_t>(graph.devices.size() - 1);
}

void join(Graph& graph, std::uint32_t from, std::uint32_t to, LinkKind kind, double bandwidth,
          std::uint32_t count = 1) {
  graph.links.push_back({from, to, kind, count, gigabytes_per_second(bandwidth), {}});
}

/// GPUs with so many NVLinks to an NVSwitch.
Graph on_nvswitch(const std::vector<std::uint32_t>& nvlinks) {
  Graph graph;
  for (std::size_t i = 0; i < nvlinks.size(); ++i) {
    add(graph, DeviceKind::gpu, "gpu" + std::to_string(i), "H100");
  }
  const std::uint32_t nvswitch = add(graph, DeviceKind::nvswitch, "nvswitch0");
  for (std::uint32_t i = 0; i < nvlinks.size(); ++i) {
    if (nvlinks[i] > 0) join(graph, i, nvswitch, LinkKind::nvlink, 26.56, nvlinks[i]);
  }
  return graph;
}

TEST(OddLinks, GpusOfAnNvswitchHaveAsManyNvlinks) {
  EXPECT_EQ(odd_links(on_nvswitch({18, 18, 18, 18})), Sentences{});
  EXPECT_EQ(odd_links(on_nvswitch({0, 0, 0, 0})), Sentences{});
  EXPECT_EQ(odd_links(on_nvswitch({18, 16, 18, 18})),
            Sentences{"gpu1 has 16 NVLinks, the other 3 have 18."});
  EXPECT_EQ(odd_links(on_nvswitch({18, 0, 18, 0})),
            Sentences{"gpu1, gpu3 have no NVLink, the other 2 have 18."});
  EXPECT_EQ(odd_links(on_nvswitch({18, 0, 18, 18, 17})),
            (Sentences{"gpu1 has no NVLink, 3 have 18.", "gpu4 has 17 NVLinks, 3 have 18."}));
}

/// Cards 0 to n-1, of which some pairs have a bridge.
Graph with_bridges(std::uint32_t cards, const std::vector<std::uint32_t>& first_of_pair) {
  Graph graph;
  for (std::uint32_t i = 0; i < cards; ++i) {
    add(graph, DeviceKind::gpu, "gpu" + std::to_string(i), "RTX 3090");
  }
  for (const std::uint32_t first : first_of_pair) {
    join(graph, first, first + 1, LinkKind::nvlink, 14.06, 4);
  }
  return graph;
}

TEST(OddLinks, ManyCardsMayHaveNoBridge) {
  EXPECT_EQ(odd_links(with_bridges(7, {0})), Sentences{});
  EXPECT_EQ(odd_links(with_bridges(4, {0})), Sentences{});
  // Four have one and three have none: one bridge may be gone, or none was there.
  EXPECT_EQ(odd_links(with_bridges(7, {0, 2})),
            Sentences{"gpu4, gpu5, gpu6 have no NVLink, the other 4 have 4."});
}

/// A switch with two GPUs of 31.5 GB/s, whose link up has another rate.
Graph below_switch(double up) {
  Graph graph;
  const std::uint32_t cpu = add(graph, DeviceKind::cpu, "cpu0");
  const std::uint32_t bridge = add(graph, DeviceKind::pcie_switch, "pcie0");
  join(graph, bridge, cpu, LinkKind::pcie, up);
  for (const char* name : {"gpu0", "gpu1"}) {
    join(graph, add(graph, DeviceKind::gpu, name, "L40S"), bridge, LinkKind::pcie, 31.5);
  }
  return graph;
}

TEST(OddLinks, ASwitchWithAFewLanesHoldsItsGpusBack) {
  EXPECT_EQ(odd_links(below_switch(31.5)), Sentences{});
  // All 16 lanes of gen3, as of a board that is older than its GPUs.
  EXPECT_EQ(odd_links(below_switch(15.75)), Sentences{});
  // One lane and four of gen4.
  EXPECT_EQ(odd_links(below_switch(1.97)),
            Sentences{"pcie0 has PCIe of 2.0 GB/s towards its CPU, gpu0 below 31.5."});
  EXPECT_EQ(odd_links(below_switch(7.88)),
            Sentences{"pcie0 has PCIe of 7.9 GB/s towards its CPU, gpu0 below 31.5."});
}

/// NICs of one rate on a CPU.
Graph nics_of(const std::vector<double>& rates) {
  Graph graph;
  const std::uint32_t cpu = add(graph, DeviceKind::cpu, "cpu0");
  join(graph, add(graph, DeviceKind::gpu, "gpu0", "H100"), cpu, LinkKind::pcie, 63);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const std::uint32_t nic =
        add(graph, DeviceKind::nic, "nic" + std::to_string(i), "mlx5_" + std::to_string(i));
    graph.devices[nic].port_rate = gigabytes_per_second(50);
    join(graph, nic, cpu, LinkKind::pcie, rates[i]);
  }
  return graph;
}

TEST(OddLinks, NicsOfARateHavePcieAlike) {
  EXPECT_EQ(odd_links(nics_of({63, 63, 63, 63})), Sentences{});
  EXPECT_EQ(odd_links(nics_of({63, 63, 31.5, 63})),
            Sentences{"nic2 has PCIe of 31.5 GB/s, 3 others of their kind have 63.0."});
  // Of two nobody knows which one is right, and half of four is no exception.
  EXPECT_EQ(odd_links(nics_of({63, 31.5})), Sentences{});
  EXPECT_EQ(odd_links(nics_of({63, 31.5, 31.5, 63})), Sentences{});
}

}  // namespace
}  // namespace collsim::test
