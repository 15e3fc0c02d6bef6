#pragma once

#include <cstdint>
#include <string_view>

#include "sim/plan/collective.h"

namespace collsim {

/// NCCL's algorithms, in the order in which it tries them.
enum class NcclAlgorithm : std::uint8_t {
  tree,
  ring,
  collnet_direct,
  collnet_chain,
  nvls,
  nvls_tree,
  pat,
};
std::string_view to_string(NcclAlgorithm algorithm);

/// Whether NVSwitches add up and copy.
bool adds_in_nvswitches(NcclAlgorithm algorithm);

/// What the busiest rank's port really carries in its busier direction, as multiple of nccl-tests'
/// size: algbw times this is the rate on the wire, which busbw, made for rings, overstates or
/// understates elsewhere. Tree, from 3 ranks on: 2, since an inner rank sends all up and all down
/// (over two trees, half of it up twice and down twice). NVLS and NVLSTree: all_reduce 1 + 1/n with
/// n ranks on each node, since a rank's whole buffer goes out once into its switch's sum and the
/// n-th part that it heads once more (what trees of heads carry between nodes goes by NICs);
/// all_gather and reduce_scatter 1. Else busbw_factor().
double wire_factor(Collective collective, NcclAlgorithm algorithm, Rank ranks, Rank ranks_per_node);

}  // namespace collsim
