#pragma once

#include <string_view>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim::command {

/// The GPUs of "0,2,4..6" (places among all GPUs of the machine) or "node1/gpu0,node0/gpu3"
/// (names), in the order written: the i-th is rank i's. Throws InputError for GPUs that the machine
/// does not have, and for one that is named twice.
std::vector<DeviceId> parse_rank_list(std::string_view text, const Topology& topology);

}  // namespace collsim::command
