#include "sim/execution/data_partition.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "sim/base/checked_count.h"
#include "sim/base/division.h"

namespace collsim {

namespace {

std::uint32_t counted_loops(std::int64_t loops) {
  return checked_count(static_cast<std::uint64_t>(loops), "loops over a channel's program",
                       "a smaller size, or larger chunks (--chunk, NCCL_BUFFSIZE)");
}

std::uint32_t used_channels(std::uint32_t channels, Bytes size, Bytes smallest_share) {
  if (smallest_share.count == 0) return channels;
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(size.count / smallest_share.count, 1, channels));
}

}  // namespace

DataPartition::DataPartition(const Plan& plan, Bytes size, Bytes element_size,
                             const Chunking& chunking)
    : DataPartition(plan.collective, plan.ranks(), plan.channels(), plan.schedule(0).chunks(), size,
                    element_size, chunking) {}

DataPartition::DataPartition(Collective collective, Rank ranks, std::uint32_t all_channels,
                             std::uint32_t chunks, Bytes size, Bytes element_size,
                             const Chunking& chunking)
    : size_(size), element_size_(element_size), chunking_(chunking) {
  assert(size.count >= 0 && element_size.count > 0 && size.count % element_size.count == 0);
  assert(chunking.slices > 0 && chunking.credits >= chunking.slices);
  const std::int64_t elements = size.count / element_size.count * sizes_held(collective, ranks);
  const std::uint32_t channels = used_channels(all_channels, size, chunking.smallest_channel_share);
  shares_.resize(channels);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    Share& share = shares_[channel];
    const std::int64_t own = elements / channels + (channel < elements % channels ? 1 : 0);
    if (collective == Collective::barrier && channel == 0) share.loops = 1;
    if (own == 0) continue;
    share.chunks = chunks;
    const std::int64_t largest =
        chunking.largest_chunk.count == 0
            ? own
            : std::max<std::int64_t>(1, chunking.largest_chunk.count / element_size.count);
    share.loops = counted_loops(divide_up(divide_up(own, share.chunks), largest));
    const std::int64_t pieces = std::int64_t{share.loops} * share.chunks;
    share.per_chunk = own / pieces;
    share.remainder = own % pieces;
  }
}

DataPartition DataPartition::nccl(const Plan& plan, const NcclCall& call) {
  const std::uint32_t parts = plan.schedule(0).chunks() / blocks(plan.collective, plan.ranks());
  const NcclChunking cut =
      plan.channels_divide_chunks
          ? chunk_nccl_messages(plan.collective, plan.ranks(), plan.channels(), parts, call)
          : chunk_nccl_call(plan.collective, plan.ranks(), plan.channels(), call);
  assert(cut.credits > cut.slices && "a ring that forwards without storing would wait for itself");
  DataPartition partition;
  partition.is_nccl_ = true;
  partition.size_ = rounded_size(plan.collective, plan.ranks(), call.size, call.element_size);
  partition.element_size_ = call.element_size;
  partition.chunking_ = {.largest_chunk = cut.chunk,
                         .slices = cut.slices,
                         .smallest_slice = cut.smallest_slice,
                         .slice_unit = 16 * call.element_size,
                         .credits = cut.credits};
  for (const NcclShare& each : cut.shares) {
    Share& share = partition.shares_.emplace_back();
    share.loops = each.loops;
    share.nccl = each;
  }
  return partition;
}

bool DataPartition::alike(std::uint32_t channel, std::uint32_t other) const {
  const auto all = [](const Share& share) {
    return std::tie(share.loops, share.chunks, share.per_chunk, share.remainder, share.nccl.loops,
                    share.nccl.parts, share.nccl.full, share.nccl.last, share.nccl.stride,
                    share.nccl.last_total);
  };
  return all(shares_[channel]) == all(shares_[other]);
}

std::uint32_t DataPartition::alike_until(std::uint32_t channel, std::uint32_t loop) const {
  const Share& share = shares_[channel];
  if (is_nccl_) return share.nccl.alike_until(loop);
  if (share.per_chunk * share.chunks * share.loops == 0) return loop + 1;
  const auto larger = static_cast<std::uint32_t>(share.remainder / share.chunks);
  if (loop < larger) return larger;
  const bool is_mixed = loop == larger && share.remainder % share.chunks > 0;
  return is_mixed ? loop + 1 : share.loops;
}

DataPartition DataPartition::without_loops(std::uint32_t loops) const {
  DataPartition shorter = *this;
  for (Share& share : shorter.shares_) {
    const std::uint32_t taken = std::min(loops, std::max(share.loops, 1U) - 1);
    share.loops -= taken;
    share.nccl = share.nccl.without_loops(std::min(taken, share.nccl.loops));
    share.remainder =
        std::max<std::int64_t>(share.remainder - std::int64_t{taken} * share.chunks, 0);
  }
  return shorter;
}

std::int64_t DataPartition::slice_size(Bytes chunk) const {
  const std::int64_t unit = chunking_.slice_unit.count;
  const std::int64_t even = divide_up(chunk.count, chunking_.slices * unit) * unit;
  return std::max(even, chunking_.smallest_slice.count);
}

std::uint32_t busy_channels(const Plan& plan, const DataPartition& partition) {
  if (!plan.channels_divide_chunks) return partition.channels();
  std::uint32_t busy = 0;
  for (std::uint32_t channel = 0; channel < partition.channels(); ++channel) {
    if (!plan.schedule(channel).connections().empty()) ++busy;
  }
  return busy;
}

}  // namespace collsim
