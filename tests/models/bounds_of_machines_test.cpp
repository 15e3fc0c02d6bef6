// The cut bound looks at the machine, not at the plan.

#include <gtest/gtest.h>

#include <vector>

#include "models/bounds.h"
#include "models/wiring.h"
#include "sim/algorithms/registry.h"
#include "sim/binding.h"

namespace collsim {
namespace {

constexpr Seconds none{0};

/// Two nodes of two GPUs; a GPU has 100 GB/s to its node's switch, a node 10 GB/s to the network.
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
      builder.add_link(device, nic, LinkKind::pcie, gigabytes_per_second(50), none);
    }
    builder.add_link(nic, network, LinkKind::network, gigabytes_per_second(10), none);
  }
  return std::move(builder).build();
}

double cut_in_microseconds(Rank ranks, const TransferCost& cost) {
  const Topology topology = two_nodes();
  const std::vector<DeviceId> gpus(topology.gpus().begin(), topology.gpus().begin() + ranks);
  const Plan plan =
      make_plan(Collective::all_reduce, "parameter_server", uniform_placement(ranks, 2));
  const Wiring wiring = wire(plan, topology, gpus, cost);
  const Binding binding(plan, Bytes{1500000}, Bytes{4}, {});
  return in_microseconds(
      lower_bounds(plan, binding, wiring, topology, gpus, cost, Protocol::simple).cut);
}

// Across nodes: 1.5 MB through 10 GB/s. Within one, a GPU's 150 GB/s. At half efficiency of the
// network, twice as long.
TEST(CutBound, is_the_narrowest_of_gpus_and_nodes) {
  EXPECT_NEAR(cut_in_microseconds(4, {}), 150, 1e-9);
  EXPECT_NEAR(cut_in_microseconds(2, {}), 10, 1e-9);
  TransferCost cost;
  cost.efficiency[static_cast<std::size_t>(LinkKind::network)] = 0.5;
  EXPECT_NEAR(cut_in_microseconds(4, cost), 300, 1e-9);
}

}  // namespace
}  // namespace collsim
