#pragma once

#include <string>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim::command {

/// The tree of PCIe devices below the CPUs of one node, with the bandwidth of each link upwards.
/// Equal branches share lines:
///
///     cpu0
///     `- pcie[0..1]        31.5 GB/s
///        |- gpu[0..3]      31.5 GB/s
///        `- nic[0..1]      31.5 GB/s
///
/// Empty if no CPU has PCIe links.
std::string pcie_tree_text(const Topology& topology, const std::vector<DeviceId>& devices);

}  // namespace collsim::command
