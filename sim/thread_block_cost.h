#pragma once

#include <algorithm>
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

/// What bears on all lanes of a thread block alike.
struct BlockSetting {
  double others = 0;  ///< thread blocks of the GPU that are busy, too
  Cold cold;
  double full_round = 0;  ///< data of a round of the most warps, where rounds flag their lines
  bool fans_out = false;  ///< whether it runs a tree's code
};

/// What the lanes of a rank's thread block send to all peers while every one of them is busy, so
/// that those that send get on alike; where none does, what they keep. Unlimited where there is one
/// lane, or nothing that limits them.
BytesPerSecond shared_rate(const Schedule& schedule, Rank rank, const ProtocolCost& cost,
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

/// What the thread block pays for the slice that it is at; a switch has none.
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
  if (worker.fans_out) {
    const PrimitiveKind kind = worker.current().kind;
    touches.fan = worker.is_root && receives(kind) && sends(kind) ? 2 : 1;
  }
  touches.other = others;
  if (worker.round > 0) touches.store *= 1 + worker.misaligned * worker.cost->misaligned;
  return touches;
}

/// The most at which a worker moves the piece that it is at, which has so many bytes on the wire,
/// while so many other thread blocks of its GPU move some too, and that share of what its rank
/// received has left the cache. A switch is as fast as its links.
inline BytesPerSecond rate_of(const Worker& worker, double bytes, double others,
                              double cold_received) {
  if (worker.is_agent) return unlimited;
  const Touches touches = touches_of(worker, others);
  const Cold cold{worker.cold, cold_received};
  if (worker.round == 0) return worker.speed * worker.cost->rate_of(touches, cold);
  const std::int64_t bytes_of_data = worker.bytes_of_piece();
  const Seconds time = worker.cost->rounds(
      touches, {bytes_of_data, worker.round, worker.warps, worker.piece == 0, worker.ends_slice()},
      cold);
  if (time.value <= 0) return unlimited;
  return {worker.speed * bytes / time.value};
}

/// What a byte that the worker keeps takes of what the lanes of its thread block share, next to
/// nothing where it only waits; arguments as those of rate_of().
inline double load_of_block(const Worker& worker, double others, double cold_received) {
  const double full_round = worker.warps > 0 ? static_cast<double>(worker.round) / worker.warps : 0;
  const BytesPerSecond alone = busy_rate_of(*worker.cost, touches_of(worker, others),
                                            {worker.cold, cold_received}, full_round);
  constexpr double least = 1e-6;
  return alone < unlimited ? std::max(worker.shared.value / alone.value, least) : least;
}

}  // namespace collsim
