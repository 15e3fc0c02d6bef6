#pragma once

#include <string_view>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim::command {

/// The GPUs of "0,2,4..6" (numbers among all GPUs of the machine) or "node1/gpu0,node0/gpu3"
/// (names), in the written order: the i-th is the GPU of rank i. Throws InputError for a GPU that
/// the machine does not have, or that occurs twice.
std::vector<DeviceId> parse_rank_list(std::string_view text, const Topology& topology);

}  // namespace collsim::command
