#include "sim/cost/slice_cost.h"

#include <cmath>

#include "sim/base/division.h"
#include "sim/cost/warps.h"

namespace collsim {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Warps that share a piece: chosen, so that a pipeline fills and drains piece by piece with few
/// events.
constexpr std::int64_t pieces_of_few_warps = 8;

/// NCCL cuts a message over several TCP streams into no smaller pieces, in bytes
/// (src/transport/net_socket.cc).
constexpr double smallest_socket_piece = 64 << 10;

/// What its links take for so much data, where it sends.
double on_links(const LaneSetting& lane, const SliceWork& work, double bytes) {
  if (work.operations.send == 0 || work.share == infinite) return 0;
  return work.load * lane.cost->wire_factor * bytes / work.share;
}

/// Of data that move while the links of what it sends have more to carry than that.
double load_of(const SliceWork& work) {
  return work.operations.send > 0 ? work.load : 1;
}

SliceTime whole_slice(const LaneSetting& lane, const SliceWork& work) {
  SliceTime time;
  time.before = slice_step(lane, work.bytes > 0, work.passes_on).value;
  const double alone = work.bytes / (lane.speed * block_rate(*lane.cost, work.operations).value);
  time.moving = std::max(load_of(work) * alone, on_links(lane, work, work.bytes));
  time.first = time.moving;
  return time;
}

/// A piece of a slice whose lines are flagged.
double piece_time(const LaneSetting& lane, const SliceWork& work, std::int64_t bytes, bool first) {
  double time = time_of_rounds(lane, work.operations, bytes).value;
  if (first) {
    const double ready = work.waits ? infinite : 0;
    time += first_round(lane, work.operations, {ready}).value;
  }
  return std::max(load_of(work) * time / lane.speed,
                  on_links(lane, work, static_cast<double>(bytes)));
}

}  // namespace

BytesPerSecond block_rate(const ProtocolConstants& cost, const MemoryOps& operations) {
  const double per_byte = (operations.load + operations.receive) / cost.read.value +
                          (operations.store + operations.send) / cost.write.value;
  return per_byte > 0 ? BytesPerSecond{1 / per_byte} : unlimited;
}

Seconds round_work(const ProtocolConstants& cost, const MemoryOps& operations, bool several_peers) {
  if (cost.rounds_wait()) return operations.send * cost.work;
  return operations.total() * cost.work + (several_peers ? cost.corrections.multi_peer : Seconds{});
}

Seconds rounds_time(const ProtocolConstants& cost, const MemoryOps& operations,
                    const FlagRounds& rounds, bool several_peers) {
  const std::int64_t number = divide_up(rounds.bytes, rounds.per_round);
  const double full =
      rounds.warps * static_cast<double>(rounds.bytes) / static_cast<double>(rounds.per_round);
  return static_cast<double>(number) * round_wait(cost, operations) +
         full * round_work(cost, operations, several_peers);
}

double contended_share(const ProtocolConstants& cost, double demand, double steps) {
  const double balance = std::min(demand, 1 / demand);
  const double lost = cost.corrections.link_contention / std::sqrt(1 + steps);
  const double sharpness = std::log(2) / -std::log1p(-lost);
  const double filled = std::pow(balance, sharpness);
  return filled > 0 ? std::exp(-std::log1p(filled) / sharpness) : 1;
}

BytesPerSecond proxy_rate(const ProxyConstants& proxy, double wire) {
  if (proxy.helpers == 0) return proxy.rate;
  const auto streams = static_cast<double>(proxy.streams);
  const double pieces = std::clamp(std::ceil(wire / smallest_socket_piece), 1.0, streams);
  const auto helpers = static_cast<double>(proxy.helpers);
  return std::min(pieces * proxy.rate, std::min(pieces, helpers) * proxy.copy);
}

double proxy_time(const ProxyConstants& proxy, double wire, double share, const AtOnce& at_once) {
  const double on_the_way = wire / std::min(share, proxy_rate(proxy, wire).value);
  const double sent = at_once.sends * proxy_send_time(proxy, wire);
  const double received = at_once.receives * proxy_receive_time(proxy, wire);
  return proxy.socket.count > 0 ? sent + on_the_way + received
                                : std::max({sent, on_the_way, received});
}

LaneSetting lane_setting(const ProtocolConstants& cost, Protocol protocol,
                         std::uint32_t warps_of_block, std::uint32_t warps_of_lane) {
  LaneSetting lane;
  lane.cost = &cost;
  lane.round = warps_of_lane * cost.warp_granule.count;
  // What goes on by itself: a round where its warps wait for each other, else a warp.
  lane.granule = (cost.rounds_wait() ? warps_of_lane : 1) * cost.warp_granule.count;
  lane.half_block = is_half_block(protocol, warps_of_block);
  if (warps_of_lane > 0) {
    lane.warps = std::min(1.0, static_cast<double>(warps_of_lane) / full_warps(protocol));
  }
  return lane;
}

BlockSetting block_setting(const ProtocolConstants& cost, Protocol protocol, bool several_peers) {
  return {full_warps(protocol) * static_cast<double>(cost.warp_granule.count), several_peers};
}

std::int64_t bytes_of_pieces(std::int64_t slice, const LaneSetting& lane) {
  if (lane.round == 0 || slice <= lane.granule) return slice;
  const std::int64_t granules = divide_up(slice, lane.granule);
  const std::int64_t few =
      std::min(divide_up(granules, pieces_of_few_warps), lane.round / lane.granule);
  return lane.granule * few;
}

SliceTime slice_time(const LaneSetting& lane, const SliceWork& work) {
  if (!lane.cost->flags_lines()) return whole_slice(lane, work);
  SliceTime time;
  time.after = slice_after(lane, work.bytes > 0, work.passes_on).value;
  const auto bytes = static_cast<std::int64_t>(work.bytes);
  if (bytes == 0) return time;
  const std::int64_t piece = bytes_of_pieces(bytes, lane);
  const std::int64_t others = divide_up(bytes, piece) - 1;
  const std::int64_t last = bytes - others * piece;
  if (others == 0) {
    time.first = piece_time(lane, work, last, true);
    time.moving = time.first;
    return time;
  }
  time.first = piece_time(lane, work, piece, true);
  time.moving = time.first +
                static_cast<double>(others - 1) * piece_time(lane, work, piece, false) +
                piece_time(lane, work, last, false);
  return time;
}

}  // namespace collsim
