#pragma once

#include <string>
#include <vector>

#include "sim/topologies/graph.h"

namespace collsim {

/// What of the links of a node is unlike those of its like, which is how faults of hardware show, a
/// sentence each: a GPU with no NVLink or fewer than the others have; a GPU, a NIC or a PCIe switch
/// whose PCIe link is narrower than that of most others; a PCIe switch with a link up so narrow
/// that no generation of slots explains it. Nothing for a node that is as it should be.
std::vector<std::string> odd_links(const Graph& node);

}  // namespace collsim
