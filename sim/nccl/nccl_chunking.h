#pragma once

#include <cstdint>
#include <vector>

#include "sim/nccl/nccl_call.h"
#include "sim/plan/collective.h"

namespace collsim {

/// One channel's part of a call: `loops` - 1 full loops, in which every chunk has `full` bytes, and
/// one in which chunk j has what is left of `last_total` after j * `stride` bytes, at most `last`.
/// For sends and receives (`parts` not 0), chunk j is part j mod `parts` of a message of
/// `last_total` bytes, each part but the last of `stride`, and travels `full` bytes at a time.
struct NcclShare {
  std::uint32_t loops = 0;
  std::uint32_t parts = 0;
  Bytes full;
  Bytes last;
  Bytes stride;
  Bytes last_total;

  constexpr Bytes chunk_bytes(std::uint32_t loop, std::uint32_t chunk) const {
    if (parts != 0) return part_bytes(loop, chunk % parts);
    if (loop + 1 < loops) return full;
    const std::int64_t left = last_total.count - std::int64_t{chunk} * stride.count;
    return {left < 0 ? 0 : (left < last.count ? left : last.count)};
  }
  /// The first loop after `loop` of which a chunk has not as many bytes, or `loops`.
  std::uint32_t alike_until(std::uint32_t loop) const;
  /// This share without `taken` full loops; nothing is left of a last part that has fewer.
  NcclShare without_loops(std::uint32_t taken) const;
  constexpr Bytes part_bytes(std::uint32_t loop, std::uint32_t part) const {
    const std::int64_t own = last_total.count - std::int64_t{part} * stride.count;
    const std::int64_t left =
        (own < stride.count ? own : stride.count) - std::int64_t{loop} * full.count;
    return {left < 0 ? 0 : (left < full.count ? left : full.count)};
  }
};

/// How NCCL cuts one call into channels, chunks and slices.
struct NcclChunking {
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
///   sends everywhere (two slices each), less where the other algorithms shrink it.
/// - Since 2.22 channels fill in order with whole cells, the last takes the rest; so a small call
///   touches few channels. 2.20 and 2.21 give every channel one range; that these are even is our
///   assumption, and that what reduces in switches is split like the others, too. Before, loops go
///   round all channels and the last one is evened out.
///
/// Throws InputError for a version before 2.18.
NcclChunking chunk_nccl_call(Collective collective, std::uint32_t ranks, std::uint32_t channels,
                             const NcclCall& call);

/// The cut of grouped sends and receives (NCCL src/enqueue.cc, addP2pToPlan): every message goes in
/// `parts` parts of a multiple of 4 KiB, each over a channel of its own, one step at a time.
NcclChunking chunk_nccl_messages(Collective collective, std::uint32_t ranks, std::uint32_t channels,
                                 std::uint32_t parts, const NcclCall& call);

/// How many channels a message of `bytes` is spread over: at first as many as all peers together
/// leave to each, but no more than it has 4 KiB for; more, up to `per_peer`, where a part would
/// exceed 32 steps (several nodes: one).
std::uint32_t nccl_parts(Bytes bytes, std::uint32_t ranks, std::uint32_t channels,
                         std::uint32_t per_peer, std::uint32_t nodes, Bytes step);

/// Bytes of one rank's contribution, or of what it gets where that is less: nccl-tests' count times
/// the element size, from its size. Rounded down to whole elements, as nccl-tests does.
Bytes bytes_per_rank(Collective collective, std::uint32_t ranks, Bytes size, Bytes element_size);
/// nccl-tests' size for these: times the ranks where each has a part of its own.
Bytes rounded_size(Collective collective, std::uint32_t ranks, Bytes size, Bytes element_size);

}  // namespace collsim
