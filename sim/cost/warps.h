#pragma once

#include <cstdint>

#include "sim/cost/calibration.h"

namespace collsim {

/// Warps of the largest thread block that NCCL starts for a protocol (NCCL src/include/device.h):
/// 512 threads for LL, 640 for LL128, 512 and one more warp for Simple.
std::uint32_t full_warps(Protocol protocol);

/// Whether a thread block has about half of them: one of Simple has one more for fences.
bool is_half_block(Protocol protocol, std::uint32_t warps);

/// The warps of a lane where a thread block of `warps` runs `lanes` programs at once.
///
/// Two (a tree's way up and its way down): LL and LL128 give 70 % of the threads, in whole warps,
/// to the first; Simple gives it half, and two warps more where that is 256 threads or more (NCCL
/// src/device/all_reduce.h, runTreeSplit). More share evenly as if they were eight at most, at
/// least one warp each.
std::uint32_t warps_of_lane(Protocol protocol, std::uint32_t warps, std::uint32_t lanes,
                            std::uint32_t lane);

/// A thread block of NVLSTree at the head of a stripe.
struct HeadBlock {
  std::uint32_t ranks = 0;    ///< of the communicator
  std::uint32_t stripes = 0;  ///< each of which a lane hands in, and another hands out
  bool is_root = false;       ///< of the tree over nodes
};

/// How many times as many warps a head's lane has as a lane that hands one stripe in or out. Of 20
/// warps 5 take the sums up and, below the root, 4 the results down; 7 go up where a root has 6
/// ranks at most. Half of the others hands all stripes in, and half hands them out (NCCL
/// src/device/all_reduce.h, NVLS_TREE; buffers that are not registered).
double share_of_head(const HeadBlock& block, bool is_way_up);

/// Warps that send a message, and as many receive one, where a thread block exchanges messages with
/// `peers` at once: up to eight share the block, and of each share of more than four warps one is
/// kept for the fence (NCCL src/device/sendrecv.h).
std::uint32_t warps_of_message(std::uint32_t warps, std::uint32_t peers);

}  // namespace collsim
