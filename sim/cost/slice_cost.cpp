#include "sim/cost/slice_cost.h"

#include "sim/cost/warps.h"

namespace collsim {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Pieces of a slice amid a long call, and warps that share one while it begins or ends: chosen, so
/// that a pipeline fills and drains piece by piece with few events.
constexpr std::int64_t max_pieces_amid = 4;
constexpr std::int64_t pieces_of_few_warps = 8;

std::int64_t divide_up(std::int64_t dividend, std::int64_t divisor) {
  return (dividend + divisor - 1) / divisor;
}

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
  const double alone = work.bytes / (lane.speed * lane.cost->rate_of(work.operations).value);
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

LaneSetting lane_setting(const ProtocolConstants& cost, Protocol protocol,
                         std::uint32_t warps_of_block, std::uint32_t warps_of_lane) {
  LaneSetting lane;
  lane.cost = &cost;
  lane.round = warps_of_lane * cost.warp_granule.count;
  lane.granule = cost.granule_of(warps_of_lane);
  lane.half_block = is_half_block(protocol, warps_of_block);
  if (warps_of_lane > 0) {
    lane.warps = std::min(1.0, static_cast<double>(warps_of_lane) / full_warps(protocol));
  }
  return lane;
}

BlockSetting block_setting(const ProtocolConstants& cost, Protocol protocol, bool several_peers) {
  return {full_warps(protocol) * static_cast<double>(cost.warp_granule.count), several_peers};
}

std::int64_t bytes_of_pieces(std::int64_t slice, const LaneSetting& lane, bool amid) {
  if (lane.round == 0 || slice <= lane.granule) return slice;
  const std::int64_t granules = divide_up(slice, lane.granule);
  const std::int64_t few =
      std::min(divide_up(granules, pieces_of_few_warps), lane.round / lane.granule);
  return lane.granule * (amid ? divide_up(granules, max_pieces_amid) : few);
}

SliceTime slice_time(const LaneSetting& lane, const SliceWork& work) {
  if (!lane.cost->flags_lines()) return whole_slice(lane, work);
  SliceTime time;
  time.after = slice_after(lane, work.bytes > 0, work.passes_on).value;
  const auto bytes = static_cast<std::int64_t>(work.bytes);
  if (bytes == 0) return time;
  const std::int64_t piece = bytes_of_pieces(bytes, lane, work.mid_call);
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
