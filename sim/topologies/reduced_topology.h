#pragma once

#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// A machine without some of its links.
struct ReducedTopology {
  Topology topology;             ///< devices keep their ids
  std::vector<LinkId> original;  ///< by link: its id on the whole machine
};

/// Leaves out every link that `dead` says, and its reverse: what is cut is cut both ways.
ReducedTopology without_links(const Topology& topology, const std::vector<bool>& dead);

}  // namespace collsim
