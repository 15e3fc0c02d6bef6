#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/units.h"
#include "sim/nccl/nccl_chunking.h"
#include "sim/plan/plan.h"

namespace collsim {

/// How large the pieces may be into which a call is cut. The defaults are the textbook's: one
/// message per transfer, however large.
struct Chunking {
  /// The largest chunk; a larger buffer takes several loops over the program. 0 means no limit.
  Bytes largest_chunk{};
  /// A chunk travels as this many slices, each a message of its own.
  std::uint32_t slices = 1;
  /// No slice but the last is smaller; chunks too small for that leave their last slices empty
  /// (which are sent all the same, as NCCL does).
  Bytes smallest_slice{};
  /// Every slice but the last is a multiple of this.
  Bytes slice_unit{1};
  /// Slices that a sender may be ahead of its receiver; at least as many as a chunk has, or two
  /// ranks that first send to each other would wait for ever, and for a ring twice as many.
  std::uint32_t credits = 8;
  /// Use fewer channels while a channel's share would be below this. 0 means always use all.
  Bytes smallest_channel_share{};

  bool operator==(const Chunking&) const = default;
};

/// Slices of NCCL that a sender may be ahead of its receiver, where a buffer holds `credits` and no
/// proxy copies: a connection over a network has a buffer at each end (src/transport/net.cc), any
/// other one has only the receiver's (src/transport/p2p.cc).
constexpr std::uint32_t slices_ahead(std::uint32_t credits, LinkKind kind) {
  return kind == LinkKind::network ? 2 * credits : credits;
}

/// The bytes of one call, cut for a plan: which channels run, how often they loop, how large every
/// chunk and slice is.
class DataPartition {
 public:
  /// The textbook's cut: even. Whatever does not divide goes, one element each, to the first
  /// channels, loops and chunks. `size` is nccl-tests'; a barrier has one loop of empty messages.
  DataPartition(const Plan& plan, Bytes size, Bytes element_size, const Chunking& chunking);
  /// The even cut for a plan that need not be there: a collective on `channels` channels, each loop
  /// in `chunks` chunks.
  DataPartition(Collective collective, Rank ranks, std::uint32_t channels, std::uint32_t chunks,
                Bytes size, Bytes element_size, const Chunking& chunking);
  /// NCCL's cut, for a plan of make_nccl_plan(), whose channels are those that the call may use.
  static DataPartition nccl(const Plan& plan, const NcclCall& call);

  /// nccl-tests' size; of NCCL's cut only what makes whole elements for every rank.
  Bytes size() const { return size_; }
  /// Whether it is NCCL's cut, not the textbook's.
  bool is_nccl() const { return is_nccl_; }
  const Chunking& chunking() const { return chunking_; }
  /// Channels that carry data, at most the plan's; the others stay idle.
  std::uint32_t channels() const { return static_cast<std::uint32_t>(shares_.size()); }
  /// How often a channel runs its program; 0 where the call is empty.
  std::uint32_t loops(std::uint32_t channel) const { return shares_[channel].loops; }

  /// Whether two channels are cut alike.
  bool alike(std::uint32_t channel, std::uint32_t other) const;
  /// The first loop after `loop` of which a chunk has not as many bytes, or the end.
  std::uint32_t alike_until(std::uint32_t channel, std::uint32_t loop) const;
  /// This cut without `loops` loops of every channel's; each that has any keeps one at least, the
  /// last.
  DataPartition without_loops(std::uint32_t loops) const;

  Bytes chunk_bytes(std::uint32_t channel, std::uint32_t loop, ChunkRange chunks) const {
    const Share& share = shares_[channel];
    if (is_nccl_) return nccl_bytes(share.nccl, loop, chunks);
    const std::int64_t first = std::int64_t{loop} * share.chunks + chunks.first;
    return {element_size_.count *
            (share.elements_before(first + chunks.count) - share.elements_before(first))};
  }

  /// The bytes of all loops of a channel; only of a textbook's cut.
  Bytes bytes_of(std::uint32_t channel) const {
    const Share& share = shares_[channel];
    return {element_size_.count * share.elements_before(std::int64_t{share.loops} * share.chunks)};
  }

  Bytes slice_bytes(Bytes chunk, std::uint32_t slice) const {
    if (chunking_.slices == 1) return chunk;
    const std::int64_t whole = slice_size(chunk);
    const std::int64_t left = chunk.count - whole * slice;
    return {left < 0 ? 0 : (left < whole ? left : whole)};
  }

 private:
  struct Share {
    std::uint32_t loops = 0;
    std::uint32_t chunks = 1;
    std::int64_t per_chunk = 0;  // elements of every chunk,
    std::int64_t remainder = 0;  // and how many of the first chunks have one more
    NcclShare nccl;              // in place of these three

    std::int64_t elements_before(std::int64_t chunk) const {
      return chunk * per_chunk + (chunk < remainder ? chunk : remainder);
    }
  };

  DataPartition() = default;
  static Bytes nccl_bytes(const NcclShare& share, std::uint32_t loop, ChunkRange chunks) {
    Bytes bytes = share.chunk_bytes(loop, chunks.first);
    for (std::uint32_t i = 1; i < chunks.count; ++i) {
      bytes += share.chunk_bytes(loop, chunks.first + i);
    }
    return bytes;
  }
  std::int64_t slice_size(Bytes chunk) const;

  bool is_nccl_ = false;
  Bytes size_;
  Bytes element_size_;
  Chunking chunking_;
  std::vector<Share> shares_;
};

/// Channels that carry data: of sends and receives only those that got a message.
std::uint32_t busy_channels(const Plan& plan, const DataPartition& partition);

}  // namespace collsim
