#pragma once

#include <cstdint>

#include "sim/nccl/nccl_channels.h"

namespace collsim::test {

/// As on NVSwitch: on every channel the ring 0, 1, ..., N-1 and the chain of the same order.
NcclChannels one_node_channels(Rank ranks, std::uint32_t count);

/// Every channel has another ring, in random order, and another tree, with at most three children.
NcclChannels random_channels(Rank ranks, std::uint32_t count, std::uint32_t seed);

/// `nodes` equal nodes of `per_node` ranks, numbered node by node: besides the ring and the chain
/// of that order, stripes whose heads are all ranks of a node, in random order, and on every
/// channel chains in another random order.
NcclChannels node_channels(std::uint32_t nodes, Rank per_node, std::uint32_t count,
                           std::uint32_t seed = 1);

}  // namespace collsim::test
