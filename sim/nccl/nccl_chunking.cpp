#include "sim/nccl/nccl_chunking.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "sim/base/checked_count.h"
#include "sim/base/division.h"
#include "sim/base/input_error.h"

namespace collsim {

namespace {

constexpr std::uint32_t steps_per_buffer = 8;
constexpr std::int64_t cell_unit = 16;  // bytes

std::uint32_t counted_loops(std::int64_t loops) {
  return checked_count(static_cast<std::uint64_t>(loops), "loops over a channel's program",
                       "a smaller size, or larger chunks (--chunk, NCCL_BUFFSIZE)");
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return divide_up(value, unit) * unit;
}

std::uint32_t floor_log2(std::uint32_t value) {
  return static_cast<std::uint32_t>(std::bit_width(value)) - 1;
}

/// What a thread block moves at a time: chunks are multiples of it.
std::int64_t grain(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return 16;
    case Protocol::ll128:
      return 1920;
    case Protocol::simple:
      return 512;
  }
  return 1;
}

/// Data of one step: LL loses half of it to flags, LL128 1/16.
std::int64_t step_bytes(const NcclCall& call) {
  switch (call.protocol) {
    case Protocol::ll:
      return call.buffers.ll.count / steps_per_buffer / 2;
    case Protocol::ll128:
      return call.buffers.ll128.count / steps_per_buffer / 16 * 15;
    case Protocol::simple:
      return call.buffers.simple.count / steps_per_buffer;
  }
  return 1;
}

/// Ring and Simple move four steps as two slices where everybody sends to everybody.
bool has_long_chunks(Collective collective, const NcclCall& call) {
  return call.algorithm == NcclAlgorithm::ring && call.protocol == Protocol::simple &&
         (collective == Collective::all_reduce || collective == Collective::all_gather ||
          collective == Collective::reduce_scatter);
}

bool is_striped(NcclAlgorithm algorithm) {
  return algorithm == NcclAlgorithm::nvls || algorithm == NcclAlgorithm::nvls_tree ||
         algorithm == NcclAlgorithm::collnet_direct;
}

/// The data that a channel's loop covers beyond its chunk, and the traffic per byte of a rank.
struct Traffic {
  std::uint32_t chunks = 1;          // that share one piece of the buffer
  std::uint32_t bytes_per_byte = 1;  // that cross the wires, roughly
};

Traffic traffic_of(Collective collective, std::uint32_t ranks, const NcclCall& call) {
  Traffic traffic;
  if (collective == Collective::all_reduce) {
    traffic.bytes_per_byte = 2;
    if (call.algorithm == NcclAlgorithm::ring) traffic.chunks = ranks;
    if (is_striped(call.algorithm)) traffic.chunks = call.stripes;
  }
  if (collective == Collective::all_gather || collective == Collective::reduce_scatter) {
    traffic.bytes_per_byte = ranks;
  }
  if (call.protocol == Protocol::ll) traffic.bytes_per_byte *= 4;
  return traffic;
}

/// Half the chunk while a channel would have fewer of them than `depth`, but not below `least`.
std::int64_t halve_while_few(std::int64_t chunk, std::int64_t channel_bytes, double depth,
                             std::int64_t least) {
  // NCCL counts whole chunks.
  const auto chunks = [&] { return channel_bytes / chunk; };
  while (static_cast<double>(chunks()) < depth && chunk > least) chunk /= 2;
  return chunk;
}

/// Tree's chunk: smaller for small calls, so that more of them are under way at once.
std::int64_t tree_chunk(std::int64_t chunk, std::uint32_t ranks, std::uint32_t channels,
                        const NcclCall& call) {
  const std::int64_t channel_bytes = call.size.count / channels;
  const double per_node = static_cast<double>(ranks) / call.nodes;
  const std::uint32_t levels = floor_log2(call.nodes);
  if (call.protocol == Protocol::ll128) {
    const double depth = 1 + levels + 0.1 * per_node;
    chunk = halve_while_few(chunk, channel_bytes, depth * 64 / per_node, 128 << 10);
    chunk = halve_while_few(chunk, channel_bytes, depth * 16 / per_node, 32 << 10);
  }
  if (call.protocol == Protocol::simple && call.version < NcclVersion{2, 20}) {
    const std::uint32_t depth = ranks / call.nodes - 1 + levels;
    chunk = halve_while_few(chunk, channel_bytes, depth * 8, 128 << 10);
    chunk = halve_while_few(chunk, channel_bytes, depth * 4, 64 << 10);
    chunk = halve_while_few(chunk, channel_bytes, depth, 32 << 10);
  }
  return chunk;
}

/// A chunk size, and how many of them on all channels and stripes a call must not fall short of.
struct ChunkStep {
  std::int64_t depth;
  std::int64_t chunk;
};

/// NVLS' and NVLSTree's chunk: smaller for small calls, each step by what the one before has left.
std::int64_t nvls_chunk(std::uint32_t channels, const NcclCall& call) {
  constexpr std::array nvls{ChunkStep{64, 64 << 10}, ChunkStep{8, 32 << 10},
                            ChunkStep{2, 16 << 10}};
  constexpr std::array nvls_tree{ChunkStep{32, 256 << 10}, ChunkStep{16, 128 << 10},
                                 ChunkStep{4, 64 << 10}, ChunkStep{1, 32 << 10}};
  const std::int64_t at_once = std::int64_t{channels} * call.stripes;
  std::int64_t chunk = std::min(step_bytes(call), call.buffers.nvls_chunk.count);
  const auto shrink = [&](const ChunkStep& step) {
    if (call.size.count < step.depth * at_once * chunk) chunk = std::min(chunk, step.chunk);
  };
  if (call.algorithm == NcclAlgorithm::nvls) {
    std::for_each(nvls.begin(), nvls.end(), shrink);
  } else {
    std::for_each(nvls_tree.begin(), nvls_tree.end(), shrink);
  }
  return chunk;
}

/// CollNet's: halved while the pipeline, over the chain or the scatter and gather, is not filled
/// often enough.
std::int64_t collnet_chunk(std::uint32_t ranks, std::uint32_t channels, const NcclCall& call) {
  const bool direct = call.algorithm == NcclAlgorithm::collnet_direct;
  const double depth = direct ? (call.stripes == 1 ? 1 : 2) : ranks / call.nodes;
  const std::int64_t bytes = call.size.count / channels / (direct ? call.stripes : 1);
  std::int64_t chunk = halve_while_few(step_bytes(call), bytes, depth * 64, 128 << 10);
  chunk = halve_while_few(chunk, bytes, depth * 8, 64 << 10);
  return halve_while_few(chunk, bytes, depth, 32 << 10);
}

/// PAT's: halved while a call has few of them, since its linear part takes one step per chunk.
std::int64_t pat_chunk(Collective collective, std::uint32_t channels, const NcclCall& call) {
  const std::int64_t few = collective == Collective::all_gather ? 32 : 16;
  std::int64_t chunk = step_bytes(call);
  while (chunk * channels * few > call.size.count && chunk > 64 << 10) chunk /= 2;
  return chunk;
}

/// Before it is rounded to whole grains.
std::int64_t wanted_chunk(Collective collective, std::uint32_t ranks, std::uint32_t channels,
                          const NcclCall& call) {
  switch (call.algorithm) {
    case NcclAlgorithm::tree:
      return tree_chunk(step_bytes(call), ranks, channels, call);
    case NcclAlgorithm::ring:
      return step_bytes(call) * (has_long_chunks(collective, call) ? 4 : 1);
    case NcclAlgorithm::nvls:
    case NcclAlgorithm::nvls_tree:
      return nvls_chunk(channels, call);
    case NcclAlgorithm::collnet_direct:
    case NcclAlgorithm::collnet_chain:
      return collnet_chunk(ranks, channels, call);
    case NcclAlgorithm::pat:
      break;
  }
  return pat_chunk(collective, channels, call);
}

std::int64_t chunk_bytes(Collective collective, std::uint32_t ranks, std::uint32_t channels,
                         const NcclCall& call) {
  const std::int64_t chunk = wanted_chunk(collective, ranks, channels, call);
  return std::max<std::int64_t>(1, chunk / grain(call.protocol)) * grain(call.protocol);
}

/// The share of a channel that owns one range of `bytes`.
NcclShare share_of_range(std::int64_t bytes, std::int64_t chunk, const Traffic& traffic) {
  NcclShare share;
  if (bytes == 0) return share;
  const std::int64_t loop = chunk * traffic.chunks;
  const std::int64_t loops = divide_up(bytes, loop);
  const std::int64_t rest = bytes - (loops - 1) * loop;
  share.loops = counted_loops(loops);
  share.full.count = chunk;
  share.last_total.count = rest;
  if (traffic.chunks == 1) {
    share.last.count = rest;
  } else {
    share.last.count = round_up(divide_up(rest, traffic.chunks), cell_unit);
    share.stride = share.last;
  }
  return share;
}

/// Bytes of every channel's range but the last one's.
std::int64_t range_bytes(std::int64_t bytes, std::uint32_t channels, std::uint32_t bytes_per_byte,
                         NcclVersion version) {
  if (version < NcclVersion{2, 22}) return round_up(divide_up(bytes, channels), cell_unit);
  const std::int64_t min_traffic = version >= NcclVersion{2, 29}   ? 32 << 10
                                   : version >= NcclVersion{2, 23} ? 16 << 10
                                                                   : 512;
  const std::int64_t cell = round_up(divide_up(min_traffic, bytes_per_byte), cell_unit);
  return std::max<std::int64_t>(1, divide_up(bytes, channels * cell)) * cell;
}

std::vector<NcclShare> split_ranges(std::int64_t bytes, std::uint32_t channels, std::int64_t chunk,
                                    const Traffic& traffic, NcclVersion version) {
  const std::int64_t range = range_bytes(bytes, channels, traffic.bytes_per_byte, version);
  std::vector<NcclShare> shares;
  for (std::int64_t begin = 0; begin < bytes; begin += range) {
    shares.push_back(share_of_range(std::min(range, bytes - begin), chunk, traffic));
  }
  return shares;
}

/// What the chunks of a last loop are rounded up to before 2.20: a multiple of what one round of
/// the thread block moves.
std::int64_t last_chunk_unit(const NcclCall& call) {
  const std::int64_t threads = call.threads;
  const bool tree = call.algorithm == NcclAlgorithm::tree;
  switch (call.protocol) {
    case Protocol::ll:
      return threads * 8;
    case Protocol::ll128:
      return threads * 60 / (tree ? 8 : 2);
    case Protocol::simple:
      return tree ? (threads - 64) * 64 : (threads - 32) * 8;
  }
  return 1;
}

/// Before 2.20: loops go round all channels; the last one is evened out over them (Tree: only where
/// it is the only one).
std::vector<NcclShare> split_rounds(std::int64_t bytes, std::uint32_t channels, std::int64_t chunk,
                                    const Traffic& traffic, const NcclCall& call) {
  if (bytes == 0) return {};
  const std::int64_t loop = chunk * traffic.chunks * channels;
  const std::int64_t loops = divide_up(bytes, loop);
  const std::int64_t rest = bytes - (loops - 1) * loop;
  const bool evened = call.algorithm == NcclAlgorithm::ring || loops == 1;
  const std::int64_t even = divide_up(rest, std::int64_t{channels} * traffic.chunks);
  const std::int64_t last = evened ? std::min(chunk, round_up(even, last_chunk_unit(call))) : chunk;
  // With Simple a channel's chunks lie side by side, else every chunk is spread over all channels.
  const bool side_by_side = call.protocol == Protocol::simple;
  std::vector<NcclShare> shares(channels);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    NcclShare& share = shares[channel];
    share.loops = counted_loops(loops);
    share.full.count = chunk;
    share.last.count = last;
    if (traffic.chunks > 1) share.stride.count = side_by_side ? last : last * channels;
    share.last_total.count = rest - channel * last * (side_by_side ? traffic.chunks : 1);
  }
  return shares;
}

/// Into how many parts, of one rank each, nccl-tests divides its size.
std::int64_t parts_of_size(Collective collective, std::uint32_t ranks) {
  switch (collective) {
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all:
    case Collective::gather:
    case Collective::scatter:
      return ranks;
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_recv:
    case Collective::barrier:
      return 1;
  }
  return 1;
}

}  // namespace

namespace {
constexpr std::int64_t part_unit = 4096;  // of messages
}

std::uint32_t nccl_parts(Bytes bytes, std::uint32_t ranks, std::uint32_t channels,
                         std::uint32_t per_peer, std::uint32_t nodes, Bytes step) {
  const std::int64_t most = step.count * (nodes > 1 ? 1 : 32);
  std::uint32_t parts = per_peer;
  while (parts > 1 && std::uint64_t{parts} * ranks > channels) parts /= 2;
  const std::int64_t filled = std::max<std::int64_t>(1, divide_up(bytes.count, part_unit));
  parts = static_cast<std::uint32_t>(std::min<std::int64_t>(parts, filled));
  while (divide_up(bytes.count, parts) > most && parts <= per_peer / 2) parts *= 2;
  return parts;
}

std::uint32_t NcclShare::alike_until(std::uint32_t loop) const {
  if (parts == 0) return loop + 1 < loops ? loops - 1 : loops;
  std::uint32_t end = loops;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const std::int64_t left = last_total.count - std::int64_t{part} * stride.count;
    const std::int64_t own = std::clamp<std::int64_t>(left, 0, stride.count);
    const auto whole = static_cast<std::uint32_t>(own / full.count);
    if (loop < whole) end = std::min(end, whole);
    if (loop == whole && own % full.count > 0) end = std::min(end, loop + 1);
  }
  return end;
}

NcclShare NcclShare::without_loops(std::uint32_t taken) const {
  NcclShare shorter = *this;
  shorter.loops -= taken;
  if (parts == 0) return shorter;
  const std::int64_t bytes = taken * full.count;
  shorter.stride.count -= bytes;
  shorter.last_total.count =
      std::max(last_total.count - parts * bytes, (parts - 1) * shorter.stride.count);
  return shorter;
}

NcclChunking chunk_nccl_messages(Collective collective, std::uint32_t ranks, std::uint32_t channels,
                                 std::uint32_t parts, const NcclCall& call) {
  NcclChunking cut;
  cut.chunk.count = call.protocol == Protocol::simple ? call.buffers.point_to_point_chunk.count
                                                      : step_bytes(call);
  NcclShare share;
  share.last_total = bytes_per_rank(collective, ranks, call.size, call.element_size);
  share.stride.count = round_up(divide_up(share.last_total.count, parts), part_unit);
  share.full = cut.chunk;
  share.parts = parts;
  share.loops = counted_loops(divide_up(share.stride.count, cut.chunk.count));
  cut.shares.assign(channels, share);
  return cut;
}

Bytes bytes_per_rank(Collective collective, std::uint32_t ranks, Bytes size, Bytes element_size) {
  assert(size.count >= 0 && element_size.count > 0);
  return size.count / element_size.count / parts_of_size(collective, ranks) * element_size;
}

Bytes rounded_size(Collective collective, std::uint32_t ranks, Bytes size, Bytes element_size) {
  return parts_of_size(collective, ranks) * bytes_per_rank(collective, ranks, size, element_size);
}

NcclChunking chunk_nccl_call(Collective collective, std::uint32_t ranks, std::uint32_t channels,
                             const NcclCall& call) {
  assert(ranks > 0 && channels > 0 && call.nodes > 0 && cell_unit % call.element_size.count == 0);
  if (call.version < oldest_nccl_version) {
    throw InputError(fmt::format("NCCL {}.{} is not known", call.version.major_number,
                                 call.version.minor_number),
                     "2.18 or later");
  }
  const std::int64_t bytes = bytes_per_rank(collective, ranks, call.size, call.element_size).count;
  const Traffic traffic = traffic_of(collective, ranks, call);
  const std::int64_t chunk = chunk_bytes(collective, ranks, channels, call);
  NcclChunking cut;
  cut.chunk.count = chunk;
  cut.shares = call.version < NcclVersion{2, 20}
                   ? split_rounds(bytes, channels, chunk, traffic, call)
                   : split_ranges(bytes, channels, chunk, traffic, call.version);
  if (has_long_chunks(collective, call)) {
    cut.slices = 2;
    cut.credits = 4;
    cut.smallest_slice.count = 2 * step_bytes(call) / 32;
  }
  return cut;
}

}  // namespace collsim
