#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/plan.h"
#include "sim/transfer_cost.h"
#include "sim/wiring.h"
#include "sim/worker.h"

namespace collsim {

/// What the thread blocks of a call cost, by the slowest kind of link that they work with.
using ThreadBlockCosts = std::array<ProtocolCost, link_kind_count>;

ThreadBlockCosts thread_block_costs(const TransferCost& cost, Protocol protocol);

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

/// What the lanes of a rank's thread block send to all peers while every one of them is busy, so
/// that those that send get on alike; where none does, what they keep. So many others of the GPU
/// are busy too. Unlimited where there is one lane, or nothing that limits them.
BytesPerSecond shared_rate(const Schedule& schedule, Rank rank, const ProtocolCost& cost,
                           double others, const Cold& cold);

/// By rank or agent: the slowest kind of link that it works with. `wires` as the connections.
std::vector<LinkKind> slowest_links(const Schedule& schedule, const std::vector<Wire>& wires);

// What follows is inline since it is asked for every slice.

/// Whether a thread block sends on as it came what a peer sent.
inline bool passes_on(const Schedule& schedule, const Primitive& primitive) {
  if (!sends(primitive.kind) || !receives(primitive.kind)) return false;
  return !reduces(primitive.kind) || (primitive.kind == PrimitiveKind::recv_send &&
                                      schedule.peers(primitive.receive_group).size() == 1);
}

/// What the thread block pays for the slice that it is at; a switch has none.
inline Seconds slice_cost(const Worker& worker) {
  if (worker.is_agent) return {};
  if (worker.slice_bytes == 0) return worker.slice_cost;
  const Seconds cost = worker.slice_cost + worker.cost->fence;
  const bool copies = passes_on(*worker.schedule, worker.current());
  return copies ? cost + worker.cost->copy_slice : cost;
}

/// The most at which a worker moves the piece that it is at, which has so many bytes on the wire,
/// while so many other thread blocks of its GPU move some too, and that share of what its rank
/// received has left the cache. A switch is as fast as its links.
inline BytesPerSecond rate_of(const Worker& worker, double bytes, double others,
                              double cold_received) {
  if (worker.is_agent) return unlimited;
  Touches touches = touches_of(*worker.schedule, worker.current());
  if (worker.is_root && receives(worker.current().kind) && sends(worker.current().kind)) {
    touches.root = 1;
  }
  touches.other = others;
  const Cold cold{worker.cold, cold_received};
  if (worker.round == 0) return worker.speed * worker.cost->rate_of(touches, cold);
  touches.store *= 1 + worker.misaligned * worker.cost->misaligned;
  const std::int64_t bytes_of_data = worker.bytes_of_piece();
  Seconds time = worker.cost->rounds(
      touches, {bytes_of_data, worker.round, worker.warps, worker.ends_slice()});
  if (cold.own > 0 || cold.received > 0) {
    time += worker.cost->cold_rounds(touches, bytes_of_data, worker.round, cold);
  }
  if (time.value <= 0) return unlimited;
  return {worker.speed * bytes / time.value};
}

}  // namespace collsim
