// NICs and GPUs whose slots carry less than they do.

#include "models/machine/slot_limits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "models/imports/machine.h"
#include "tools/collsim/request/change.h"

namespace collsim {
namespace {

std::vector<std::string> limits_of(const Topology& topology) {
  std::vector<std::uint32_t> nodes(topology.node_count());
  std::iota(nodes.begin(), nodes.end(), 0U);
  return slot_limits(topology, nodes, true);
}

/// A machine with PCIe of that many GB/s under its NICs, or under all that hangs on PCIe.
MachineParts with_slots(MachineParts parts, double rate, bool all) {
  for (GraphLink& link : parts.node.links) {
    const bool nic = parts.node.devices[link.from].kind == DeviceKind::nic ||
                     parts.node.devices[link.to].kind == DeviceKind::nic;
    if (link.kind == LinkKind::pcie && (nic || all)) link.bandwidth = gigabytes_per_second(rate);
  }
  return parts;
}

TEST(SlotLimits, are_those_of_nics_that_are_faster) {
  for (const char* const machine : {"dgx-h100", "dgx-a100", "dgx-b200"}) {
    for (const double slot : {15.75, 31.5, 63.0, 126.0}) {
      for (const double nic : {100.0, 200.0, 400.0, 800.0}) {
        const MachineParts parts =
            with_slots(changed(load_parts(machine), fmt::format("nic={}Gb/s", nic)), slot, true);
        const std::vector<std::string> limits = limits_of(compose(parts, 2));
        EXPECT_EQ(limits.size(), nic / 8 > slot ? 1U : 0U)
            << machine << ", " << slot << ", " << nic;
      }
    }
  }
}

// The NIC's own slot is wide enough, that of the GPU is not.
TEST(SlotLimits, are_those_of_the_whole_way) {
  MachineParts parts = with_slots(changed(load_parts("dgx-h100"), "nic=800Gb/s"), 126, false);
  EXPECT_EQ(limits_of(compose(parts, 2)),
            std::vector<std::string>{"nic0 to nic7 have a network of 800 Gb/s, but the way to the "
                                     "GPUs carries 504 Gb/s: the PCIe slot limits them."});
}

// GPUs on PCIe alone, below a switch with an older slot.
TEST(SlotLimits, are_those_of_gpus_without_nvlink) {
  MachineParts parts = load_parts("l40s-8-x4");
  const auto is_gpu = [&](std::uint32_t device) {
    return parts.node.devices[device].kind == DeviceKind::gpu;
  };
  for (GraphLink& link : parts.node.links) {
    if (is_gpu(link.from) || is_gpu(link.to)) link.bandwidth = gigabytes_per_second(126);
  }
  const std::vector<std::string> limits = limits_of(compose(parts, 1));
  ASSERT_EQ(limits.size(), 1U);
  EXPECT_NE(limits.front().find("PCIe of 1008 Gb/s"), std::string::npos) << limits.front();
}

}  // namespace
}  // namespace collsim
