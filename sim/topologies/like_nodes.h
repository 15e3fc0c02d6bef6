#pragma once

#include <cstdint>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// The first node that is like each node, which may be itself, by node. Like nodes have one
/// template, and equal cables from the same of their devices to the same devices of the fabric; a
/// node that a cable joins to another node is like none. Paths from elsewhere lead to all of them
/// alike.
std::vector<std::uint32_t> first_like_nodes(const Topology& topology);

}  // namespace collsim
