#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/nccl/nccl_call.h"
#include "sim/nccl/nccl_channels.h"
#include "sim/plan/collective.h"
#include "sim/plan/plan.h"

namespace collsim {

/// Nothing, or why NCCL has no such algorithm for the collective and which it has.
std::optional<std::string> why_no_nccl_plan(Collective collective, NcclAlgorithm algorithm);

/// Which of its plan's schedules each of the first `used_channels` channels runs, from 0 on.
std::vector<std::uint32_t> nccl_schedules(NcclAlgorithm algorithm, const NcclChannels& channels,
                                          std::uint32_t used_channels);

/// What NCCL runs on the first `used_channels` channels, primitive for primitive (NCCL 2.30
/// src/device/all_reduce.h, all_gather.h, reduce_scatter.h, broadcast.h, reduce.h): out of place,
/// as nccl-tests' first columns, or in place, where an all_gather and the root of a broadcast do
/// not copy what they send (but with nvls and collnet_direct, whose switches hand it back).
/// Channels with the same ring, tree or chains share one schedule; of the other algorithms all do,
/// of nvls_tree the even ones (the first tree) and the odd ones (the second). `root` counts only
/// where the collective has one.
///
/// Chunks of one loop: all_reduce on a ring one per rank, numbered by ring position from rank 0, in
/// stripes one per stripe; all_gather and reduce_scatter one per rank, numbered by rank; else one.
///
/// A forwarded partial sum is not stored on the way (recv_reduce_send), so that a ring needs FIFOs
/// of two messages at least; NCCL's hold four or eight. PAT's need nccl_pat_aggregation() messages.
/// Throws InputError where why_no_nccl_plan(), or where the channels have no heads for it.
Plan make_nccl_plan(Collective collective, NcclAlgorithm algorithm, const NcclChannels& channels,
                    std::uint32_t used_channels, Rank root = 0, bool in_place = false);

}  // namespace collsim
