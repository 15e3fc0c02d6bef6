#pragma once

#include <cstdint>
#include <vector>

#include "sim/collective.h"
#include "sim/nccl_call.h"

namespace collsim {

/// One channel's part of a call: `loops` - 1 full loops, in which every chunk has `full` bytes, and
/// one in which chunk j has what is left of `last_total` after j * `stride` bytes, at most `last`.
struct NcclShare {
  std::uint32_t loops = 0;
  Bytes full;
  Bytes last;
  Bytes stride;
  Bytes last_total;

  constexpr Bytes chunk_bytes(std::uint32_t loop, std::uint32_t chunk) const {
    if (loop + 1 < loops) return full;
    const std::int64_t left = last_total.count - std::int64_t{chunk} * stride.count;
    return {left < 0 ? 0 : (left < last.count ? left : last.count)};
  }
};

/// How NCCL cuts one call into channels, chunks and slices.
struct NcclCut {
  Bytes chunk;               ///< the largest
  std::uint32_t slices = 1;  ///< per chunk
  Bytes smallest_slice;
  std::uint32_t credits = 8;      ///< slices
  std::vector<NcclShare> shares;  ///< of the channels that carry data, at most `channels`
};

/// The cut of a call of `collective` on `ranks` ranks with `channels` channels to use (NCCL
/// src/enqueue.cc: scheduleCollTasksToPlan, calcCollChunking; 2.18 and 2.19 src/device/*.h).
///
/// - A chunk is one step of the connection's buffer, four with Ring and Simple where everybody
/// sends
///   everywhere (two slices each), less where Tree shrinks it.
/// - Since 2.22 channels fill in order with whole cells, the last takes the rest; so a small call
///   touches few channels. 2.20 and 2.21 give every channel one range; that these are even is our
///   assumption. Before, loops go round all channels and the last one is evened out.
///
/// Throws InputError for a version before 2.18.
NcclCut cut_nccl_call(Collective collective, std::uint32_t ranks, std::uint32_t channels,
                      const NcclCall& call);

/// Bytes of one rank's contribution, or of what it gets where that is less: nccl-tests' count times
/// the element size, from its size. Rounded down to whole elements, as nccl-tests does.
Bytes bytes_per_rank(Collective collective, std::uint32_t ranks, Bytes size, Bytes element_size);

}  // namespace collsim
