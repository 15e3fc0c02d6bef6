#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/cost/calibration.h"
#include "sim/execution/wiring.h"
#include "sim/execution/worker.h"
#include "sim/fabric/fabric.h"
#include "sim/plan/plan.h"

namespace collsim {

/// What the thread blocks of a call cost, by the slowest kind of link that they work with.
using ThreadBlockCosts = std::array<ProtocolCost, link_kind_count>;

ThreadBlockCosts thread_block_costs(const Calibration& cost, Protocol protocol);

/// How often a primitive touches its data.
inline Touches touches_of(const Schedule& schedule, const Primitive& primitive) {
  const PrimitiveKind kind = primitive.kind;
  const auto peers = [&](bool any, PeerGroupId group) {
    return any ? static_cast<double>(schedule.peers(group).size()) : 0.0;
  };
  return {reads_own(kind) ? 1.0 : 0.0, peers(receives(kind), primitive.receive_group),
          stores(kind) ? 1.0 : 0.0, peers(sends(kind), primitive.send_group)};
}

/// How badly warps that store so many bytes at once line up with the parts of ranks that an
/// all_gather of `size` bytes puts side by side: 0 where every part begins at a multiple of
/// `granule`, next to 1 where hardly one does. The share of parts that do not, by how far they are
/// off: (1 - g/granule)^2, where g is the greatest common divisor of both. Loads, as those of a
/// reduce_scatter, do not mind (recordings/h200x4/alignment.yaml).
double misalignment(Collective collective, Rank ranks, Bytes size, Bytes granule);

/// What bears on all lanes of a thread block alike.
struct BlockSetting {
  double others = 0;  ///< thread blocks of the GPU that are busy, too
  Cold cold;
  double full_round = 0;  ///< data of a round of the most warps, where rounds flag their lines
  bool fans_out = false;  ///< whether it runs a tree's code
};

/// What the lanes of a rank's thread block send to all peers while every one of them is busy, if
/// those that send get on alike; where none does, what they keep. Of Simple the faster gets more
/// (flow_rate()): two lanes whose rates are a third apart do 2 % less than they could. Unlimited
/// where there is one lane, or nothing that limits them.
BytesPerSecond shared_rate(const Schedule& schedule, Rank rank, const ProtocolCost& cost,
                           const BlockSetting& setting);

/// The same while lanes that keep what they receive are busy, too, and as far as those that send.
BytesPerSecond rate_beside_kept(const Schedule& schedule, Rank rank, const ProtocolCost& cost,
                                const BlockSetting& setting);

/// By rank or agent: the slowest kind of link that it works with. `wires` as the connections.
std::vector<LinkKind> slowest_links(const Schedule& schedule, const std::vector<Wire>& wires);

// What follows is inline since it is asked for every slice.

/// Whether a thread block sends on as it came what a peer sent.
inline bool passes_on(const Schedule& schedule, const Primitive& primitive) {
  if (!sends(primitive.kind) || !receives(primitive.kind)) return false;
  return !reduces(primitive.kind) || (primitive.kind == PrimitiveKind::recv_send &&
                                      schedule.peers(primitive.receive_group).size() == 1);
}

/// What the thread block pays for the slice that it is at, besides what its data take; a switch has
/// none.
inline Seconds slice_cost(const Worker& worker) {
  if (worker.is_agent) return {};
  if (worker.slice_bytes == 0) return worker.slice_cost;
  const Seconds cost = worker.slice_cost + worker.cost->fence;
  const bool copies = passes_on(*worker.schedule, worker.current());
  return copies ? cost + worker.cost->copy_slice : cost;
}

/// At which data on the wire move that a thread block touches so, if nothing else keeps it busy,
/// and of protocols that flag their lines however long warps wait: of the most warps that a thread
/// block can have (full_warps()), a round moves so much data.
inline BytesPerSecond busy_rate_of(const ProtocolCost& cost, const Touches& touches,
                                   const Cold& cold, double full_round) {
  if (!cost.flags_lines()) return cost.rate_of(touches, cold);
  const Seconds work = cost.work_of(touches, cold);
  return work.value > 0 ? BytesPerSecond{cost.wire_factor * full_round / work.value} : unlimited;
}

/// What the worker is at does with its data.
inline Touches touches_of(const Worker& worker, double others) {
  Touches touches = touches_of(*worker.schedule, worker.current());
  touches.fan = worker.fans_out ? 1 : 0;
  touches.other = others;
  if (worker.round > 0) touches.store *= 1 + worker.misaligned * worker.cost->misaligned;
  return touches;
}

/// What a worker waits longer in the first round of a slice, `ready` as in PieceSetting. Lanes that
/// keep each other waiting have paid for all but their own data before (cost_before()).
inline Seconds first_wait(const Worker& worker, const Touches& touches, Seconds ready) {
  const Seconds load = worker.cost->first_load(touches, ready);
  return worker.adds_slices() ? load : load + worker.cost->first_rest(touches);
}

/// What bears on a worker that begins a piece.
struct PieceSetting {
  double others = 0;         ///< thread blocks of its GPU that move bytes, too
  double cold_received = 0;  ///< of what it receives, the share that has left the cache
  Seconds ready{};           ///< how long nothing but messages kept it from it
};

/// The most at which a worker moves the piece that it is at, which has so many bytes on the wire. A
/// switch is as fast as its links.
inline BytesPerSecond rate_of(const Worker& worker, double bytes, const PieceSetting& setting) {
  if (worker.is_agent) return unlimited;
  const Touches touches = touches_of(worker, setting.others);
  const Cold cold{worker.cold, setting.cold_received};
  if (worker.round == 0) return worker.speed * worker.cost->rate_of(touches, cold);
  const Rounds rounds{worker.bytes_of_piece(), worker.round, worker.warps, worker.ends_slice()};
  Seconds time = worker.cost->rounds(touches, rounds, cold);
  if (worker.piece == 0 && rounds.bytes > 0) time += first_wait(worker, touches, setting.ready);
  if (time.value <= 0) return unlimited;
  return {worker.speed * bytes / time.value};
}

/// How what a thread block can move at such a rate shares what is full: links, and the time of its
/// lanes. Of a protocol that moves slices whole, what is twice as fast has twice as much on its way
/// and gets twice the share: all slow down by the same part. Trees of two ranks show it, each of
/// which is a leaf on half of the channels and a root on the others: leaves write twice as fast,
/// fill their FIFOs and then leave the link to roots that cannot fill it (recordings/h200.csv,
/// Tree-Simple-2, 128 MiB: 80 % of the link is used, with equal shares it would be 88). A thread of
/// a protocol that flags its lines has a line or a few on their way, whatever else it does: it gets
/// the same share as any other. What only links limit counts as 20 GB/s.
inline FlowRate flow_rate(const ProtocolCost& cost, BytesPerSecond rate) {
  constexpr BytesPerSecond ordinary = gigabytes_per_second(20);
  if (cost.flags_lines() || !(rate < unlimited)) return rate;
  return {rate, rate.value / ordinary.value};
}

/// What the thread block pays before it moves data of the slice that it is at: where slices move
/// whole, all that they cost; where lines are flagged, what a first round keeps lanes that wait for
/// each other busy.
inline Seconds cost_before(const Worker& worker) {
  if (!worker.cost->flags_lines()) return slice_cost(worker);
  if (!worker.adds_slices() || worker.piece > 0 || worker.slice_bytes == 0) return {};
  return worker.cost->first_rest(touches_of(worker, 0));
}

/// And what it pays when its peers have the slice's data.
inline Seconds cost_after(const Worker& worker) {
  return worker.cost->flags_lines() && worker.ends_slice() ? slice_cost(worker) : Seconds{};
}

/// What a byte that the worker keeps takes of what the lanes of its thread block share, next to
/// nothing where it only waits.
inline double load_of_block(const Worker& worker, const PieceSetting& setting) {
  const double full_round = worker.warps > 0 ? static_cast<double>(worker.round) / worker.warps : 0;
  const BytesPerSecond alone = busy_rate_of(*worker.cost, touches_of(worker, setting.others),
                                            {worker.cold, setting.cold_received}, full_round);
  constexpr double least = 1e-6;
  return alone < unlimited ? std::max(worker.shared.value / alone.value, least) : least;
}

}  // namespace collsim
