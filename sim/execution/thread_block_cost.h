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

/// The operations of a primitive.
inline Operations operations_of(const Schedule& schedule, const Primitive& primitive) {
  const PrimitiveKind kind = primitive.kind;
  const auto peers = [&](bool any, PeerGroupId group) {
    return any ? static_cast<double>(schedule.peers(group).size()) : 0.0;
  };
  return {reads_own(kind) ? 1.0 : 0.0, peers(receives(kind), primitive.receive_group),
          stores(kind) ? 1.0 : 0.0, peers(sends(kind), primitive.send_group)};
}

/// What bears on all lanes of a thread block alike.
struct BlockSetting {
  double full_round = 0;       ///< data of a round of the most warps, where rounds flag their lines
  bool several_peers = false;  ///< whether it runs a tree's code, which looks at several peers
};

/// What the lanes of a rank's thread block send to all peers while every one of them is busy, if
/// those that send get on alike; where none does, what they keep. Of Simple the faster gets more
/// (flow_rate()): two lanes whose rates are a third apart do 2 % less than they could. Unlimited
/// where there is one lane, or nothing that limits them.
BytesPerSecond shared_rate(const Schedule& schedule, Rank rank, const ProtocolCost& cost,
                           const BlockSetting& setting);

/// The same while lanes that keep what they receive are busy, too, and as far as those that send.
BytesPerSecond send_rate_beside_local_stores(const Schedule& schedule, Rank rank,
                                             const ProtocolCost& cost, const BlockSetting& setting);

/// By rank or agent: the slowest kind of link that it works with. `wires` as the connections. Those
/// to and from switches that add up do not count: what the network's switch gets and gives passes
/// through a buffer of the GPU, and a transport's step is of messages from host to host, each with
/// a proxy that takes it in. The one published run by SHARP excludes that step
/// (recordings/published, h100x8x12-ib-ndr-sharp).
std::vector<LinkKind> slowest_links(const Schedule& schedule, const std::vector<Wire>& wires);

// What follows is inline since it is asked for every slice.

/// Whether a thread block sends on as it came what a peer sent.
inline bool passes_on(const Schedule& schedule, const Primitive& primitive) {
  if (!sends(primitive.kind) || !receives(primitive.kind)) return false;
  return !reduces(primitive.kind) || (primitive.kind == PrimitiveKind::recv_send &&
                                      schedule.peers(primitive.receive_group).size() == 1);
}

/// The step of the slice that the thread block is at; a switch has none.
inline Seconds step_of(const Worker& worker) {
  if (worker.is_agent) return {};
  const Seconds cost = worker.cost->step_of(worker.slice_bytes > 0) + worker.block_step;
  const bool copies = worker.slice_bytes > 0 && passes_on(*worker.schedule, worker.current());
  return copies ? cost + worker.cost->corrections.copy_step : cost;
}

/// The rate on the wire of a thread block that does such operations, if nothing else keeps it busy.
/// For protocols that flag their lines: of the most warps that a thread block can have
/// (full_warps()), of which a round moves so much data, however long they wait.
inline BytesPerSecond busy_rate_of(const ProtocolCost& cost, const Operations& operations,
                                   const BlockSetting& setting) {
  if (!cost.flags_lines()) return cost.rate_of(operations);
  const Seconds work = cost.work_of(operations, setting.several_peers);
  if (work.value <= 0) return unlimited;
  return BytesPerSecond{cost.wire_factor * setting.full_round / work.value};
}

/// The operations that the worker is at.
inline Operations operations_of(const Worker& worker) {
  return operations_of(*worker.schedule, worker.current());
}

/// What a worker waits longer in the first round of a slice, for which nothing but messages was
/// missing for `ready`. Lanes that serialize have paid for all but their own data before
/// (cost_before()).
inline Seconds first_wait(const Worker& worker, const Operations& operations, Seconds ready) {
  const Seconds load = worker.cost->first_load(operations, ready);
  return worker.lanes_serialize() ? load : load + worker.cost->first_rest(operations);
}

/// The most at which a worker moves the piece that it is at, which has so many bytes on the wire. A
/// switch is as fast as its links. `ready` as in first_wait().
inline BytesPerSecond rate_of(const Worker& worker, double bytes, Seconds ready) {
  if (worker.is_agent) return unlimited;
  const Operations operations = operations_of(worker);
  if (worker.round == 0) return worker.speed * worker.cost->rate_of(operations);
  const Rounds rounds{worker.bytes_of_piece(), worker.round, worker.warps};
  Seconds time = worker.cost->rounds(operations, rounds, worker.several_peers);
  if (worker.piece == 0 && rounds.bytes > 0) time += first_wait(worker, operations, ready);
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
  if (!worker.cost->flags_lines()) return step_of(worker);
  if (!worker.lanes_serialize() || worker.piece > 0 || worker.slice_bytes == 0) return {};
  return worker.cost->first_rest(operations_of(worker));
}

/// And what it pays when its peers have the slice's data.
inline Seconds cost_after(const Worker& worker) {
  return worker.cost->flags_lines() && worker.ends_slice() ? step_of(worker) : Seconds{};
}

/// What a byte that the worker keeps takes of what the lanes of its thread block share, next to
/// nothing where it only waits.
inline double load_of_block(const Worker& worker) {
  const double full_round = worker.warps > 0 ? static_cast<double>(worker.round) / worker.warps : 0;
  const BytesPerSecond alone =
      busy_rate_of(*worker.cost, operations_of(worker), {full_round, worker.several_peers});
  constexpr double least = 1e-6;
  return alone < unlimited ? std::max(worker.shared.value / alone.value, least) : least;
}

}  // namespace collsim
