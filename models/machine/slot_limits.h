#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// Slots that limit what hangs on them, a sentence each, for the nodes of some GPUs, each kind of
/// node once: NICs (where they are asked about) whose cables carry more than the way between them
/// and the GPUs, and GPUs without NVLink whose PCIe carries more than the way to their CPU. Nothing
/// for a node whose slots carry all.
std::vector<std::string> slot_limits(const Topology& topology, std::span<const std::uint32_t> nodes,
                                     bool with_nics);

}  // namespace collsim
