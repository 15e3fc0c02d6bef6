#include "models/analytic/slice_time.h"

#include <algorithm>
#include <limits>

#include "sim/execution/worker.h"

namespace collsim {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

double step_of(const LaneSetting& lane, const SliceWork& work) {
  const ProtocolCost& cost = *lane.cost;
  const bool has_data = work.bytes > 0;
  double step = (cost.step_of(has_data) + lane.block_step).value;
  if (has_data && work.passes_on) step += cost.corrections.copy_step.value;
  return step;
}

/// What its links take for so much data, where it sends.
double on_links(const LaneSetting& lane, const SliceWork& work, double bytes) {
  if (work.operations.send == 0 || work.share == infinite) return 0;
  return work.load * lane.cost->wire_factor * bytes / work.share;
}

SliceTime whole_slice(const LaneSetting& lane, const SliceWork& work) {
  SliceTime time;
  time.before = step_of(lane, work);
  const double alone = work.bytes / (lane.speed * lane.cost->rate_of(work.operations).value);
  const double load = work.operations.send > 0 ? work.load : 1;
  time.moving = std::max(load * alone, on_links(lane, work, work.bytes));
  time.first = time.moving;
  return time;
}

/// A piece of a slice whose lines are flagged.
double piece_time(const LaneSetting& lane, const SliceWork& work, std::int64_t bytes, bool first) {
  const ProtocolCost& cost = *lane.cost;
  const std::int64_t round = lane.warps * cost.warp_granule.count;
  const double warps = std::min(1.0, lane.warps / lane.full_warps);
  double time = cost.rounds(work.operations, {bytes, round, warps}, lane.several_peers).value;
  if (first) {
    const double ready = work.waits ? infinite : 0;
    time += (cost.first_load(work.operations, {ready}) + cost.first_rest(work.operations)).value;
  }
  const double load = work.operations.send > 0 ? work.load : 1;
  return std::max(load * time / lane.speed, on_links(lane, work, static_cast<double>(bytes)));
}

}  // namespace

SliceTime slice_time(const LaneSetting& lane, const SliceWork& work) {
  const ProtocolCost& cost = *lane.cost;
  if (!cost.flags_lines()) return whole_slice(lane, work);
  SliceTime time;
  time.after = step_of(lane, work);
  const auto bytes = static_cast<std::int64_t>(work.bytes);
  if (bytes == 0) return time;
  const std::int64_t round = lane.warps * cost.warp_granule.count;
  const std::int64_t piece = bytes_of_pieces(bytes, round, cost.granule_of(lane.warps), work.amid);
  const std::int64_t others = (bytes + piece - 1) / piece - 1;
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
