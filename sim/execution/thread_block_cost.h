#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/cost/slice_cost.h"
#include "sim/execution/wiring.h"
#include "sim/execution/worker.h"
#include "sim/fabric/fabric.h"
#include "sim/plan/plan.h"

namespace collsim {

/// What the thread blocks of a call cost, by the slowest kind of link that they work with.
using ThreadBlockCosts = std::array<ProtocolConstants, link_kind_count>;

ThreadBlockCosts thread_block_costs(const Calibration& cost, Protocol protocol);

/// The operations of a primitive that receives from `from` peers and sends to `to`, if its kind
/// does.
constexpr MemoryOps operations_of(PrimitiveKind kind, double from, double to) {
  return {reads_own(kind) ? 1.0 : 0.0, receives(kind) ? from : 0.0, stores(kind) ? 1.0 : 0.0,
          sends(kind) ? to : 0.0};
}

/// The operations of a plan's primitive.
inline MemoryOps operations_of(const Schedule& schedule, const Primitive& primitive) {
  const PrimitiveKind kind = primitive.kind;
  const auto peers = [&](bool any, PeerGroupId group) {
    return any ? static_cast<double>(schedule.peers(group).size()) : 0.0;
  };
  return operations_of(kind, peers(receives(kind), primitive.receive_group),
                       peers(sends(kind), primitive.send_group));
}

/// What the lanes of a rank's thread block send to all peers while every one of them is busy, if
/// those that send get on alike; where none does, what they keep. Of Simple the faster gets more
/// (flow_rate()): two lanes whose rates are a third apart do 2 % less than they could. Unlimited
/// where there is one lane, or nothing that limits them.
BytesPerSecond shared_rate(const Schedule& schedule, Rank rank, const ProtocolConstants& cost,
                           const BlockSetting& setting);

/// The rate while lanes that keep what they receive are busy, too, and as far as those that send.
BytesPerSecond send_rate_beside_local_stores(const Schedule& schedule, Rank rank,
                                             const ProtocolConstants& cost,
                                             const BlockSetting& setting);

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

/// The operations that the worker is at.
inline MemoryOps operations_of(const Worker& worker) {
  return operations_of(*worker.schedule, worker.current());
}

/// The highest rate at which a worker moves its piece, of `bytes` on the wire. A switch is as fast
/// as its links. `ready` as in first_round().
inline BytesPerSecond rate_of(const Worker& worker, double bytes, Seconds ready) {
  if (worker.is_agent) return unlimited;
  const LaneSetting& setting = worker.setting;
  const MemoryOps operations = operations_of(worker);
  if (setting.round == 0) return setting.speed * block_rate(*setting.cost, operations);
  const std::int64_t data = worker.bytes_of_piece();
  Seconds time = time_of_rounds(setting, operations, data);
  if (worker.piece == 0 && data > 0) time += first_round(setting, operations, ready);
  if (time.value <= 0) return unlimited;
  return {setting.speed * bytes / time.value};
}

/// The rate of a thread block of weight 1, chosen: only what shares a link with flows that no
/// thread block limits depends on it.
inline constexpr BytesPerSecond ordinary_rate = gigabytes_per_second(20);

/// How what a thread block can move at such a rate shares what is full: links, and the time of its
/// lanes. Of a protocol that moves slices whole, what is twice as fast has twice as much on its way
/// and gets twice the share: all slow down by the same part. Trees of two ranks show it, each of
/// which is a leaf on half of the channels and a root on the others: leaves write twice as fast,
/// fill their FIFOs and then leave the link to roots that cannot fill it (recordings/h200.csv,
/// Tree-Simple-2, 128 MiB: 80 % of the link is used, with equal shares it would be 88). A thread of
/// a protocol that flags its lines has a line or a few on their way, whatever else it does: it gets
/// the same share as any other. What only links limit counts as `ordinary_rate`.
inline FlowRate flow_rate(const ProtocolConstants& cost, BytesPerSecond cap) {
  if (cost.flags_lines() || !(cap < unlimited)) return cap;
  return {ordinary_rate, cap.value / ordinary_rate.value};
}

/// Whether the worker sends the slice that it is at as it came.
inline bool passes_on(const Worker& worker) {
  return worker.slice_bytes > 0 && passes_on(*worker.schedule, worker.current());
}

/// What the worker pays before data of the piece that it is at move; a switch pays nothing.
inline Seconds cost_before(const Worker& worker) {
  if (worker.is_agent || worker.piece > 0) return {};
  // Only first rounds ask for operations, and they are looked up for every slice.
  const bool has_rounds = worker.cost().flags_lines();
  const MemoryOps operations = has_rounds ? operations_of(worker) : MemoryOps{};
  return slice_before(worker.setting, operations, worker.slice_bytes > 0,
                      !has_rounds && passes_on(worker));
}

/// The time that a worker pays when its peers have the slice's data.
inline Seconds cost_after(const Worker& worker) {
  if (worker.is_agent || !worker.ends_slice()) return {};
  return slice_after(worker.setting, worker.slice_bytes > 0, passes_on(worker));
}

/// What a byte that the worker keeps takes of what the lanes of its thread block share, next to
/// nothing where it only waits.
inline double load_of_block(const Worker& worker) {
  const LaneSetting& setting = worker.setting;
  const double full_round =
      setting.warps > 0 ? static_cast<double>(setting.round) / setting.warps : 0;
  const BytesPerSecond alone =
      busy_rate_of(*setting.cost, operations_of(worker), {full_round, setting.several_peers});
  constexpr double least = 1e-6;  // chosen: a flow of some bytes, however little it takes
  return alone < unlimited ? std::max(worker.shared.value / alone.value, least) : least;
}

}  // namespace collsim
