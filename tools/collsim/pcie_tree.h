#pragma once

#include <string>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim::command {

/// How PCIe joins the devices of one node below its CPUs, with the bandwidth of each link upwards.
/// Branches that are alike share lines:
///
///     cpu0
///     `- pcie[0..1]          24 GB/s
///        |- gpu[0..3]        24 GB/s
///        `- nic[0..1]        24 GB/s
///
/// Empty where no CPU has PCIe.
std::string pcie_tree_text(const Topology& topology, const std::vector<DeviceId>& devices);

}  // namespace collsim::command
