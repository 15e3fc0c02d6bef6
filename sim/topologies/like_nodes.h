#pragma once

#include <cstdint>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// By node: the first node that is like it, which may be itself. Like nodes have one template, and
/// equal cables from the same of their devices to the same devices of the fabric; a node that a
/// cable joins to another node is like none. Paths from elsewhere lead to all of them alike.
std::vector<std::uint32_t> first_like_nodes(const Topology& topology);

}  // namespace collsim
