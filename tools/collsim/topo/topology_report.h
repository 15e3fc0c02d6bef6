#pragma once

#include <iosfwd>
#include <string>

#include "sim/topologies/topology.h"

namespace collsim::command {

/// Counts what a machine has: "512 GPUs on 64 nodes, 1752 devices, 2752 links (5504 directions)".
std::string topology_summary(const Topology& topology);

/// Draws a machine for a terminal. Nodes with the same wiring are drawn once:
///
///   HGX H200, 8 GPUs on NVSwitch
///   8 GPUs on 1 node, 11 devices, 17 links
///   calibration: hgx-h200
///
///   node0
///     gpu[0..7] (H200), nvswitch0, cpu[0..1]
///     gpu[0..7]    - nvswitch0    nvlink    18 x 26.56 GB/s  0 s
///     gpu[0..3]    - cpu0         pcie              63 GB/s  0 s
///     ...
///
///   bandwidth between GPUs, GB/s
///              gpu0   gpu1 ...
///     gpu0        -  478.1 ...
void show_topology(const Topology& topology, std::ostream& out);

}  // namespace collsim::command
