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

/// Those of thread blocks of so many warps; 0 where there are none to speak of.
ThreadBlockCosts thread_block_costs(const TransferCost& cost, Protocol protocol,
                                    std::uint32_t warps);

/// The rounds of a thread block that has fewer warps than the largest one: as if the others had no
/// data.
ProtocolCost with_warps(ProtocolCost cost, Protocol protocol, std::uint32_t warps);

/// Whether thread blocks of any kind have a rate of their own.
bool limits_thread_blocks(const TransferCost& cost, Protocol protocol);

/// By rank or agent: the slowest kind of link that it works with. `wires` as the connections.
std::vector<LinkKind> slowest_links(const Schedule& schedule, const std::vector<Wire>& wires);

// What follows is inline since it is asked for every slice.

/// What a thread block does in a primitive.
inline Work work_of(const Schedule& schedule, const Primitive& primitive) {
  const bool only_passes_on = primitive.kind == PrimitiveKind::recv_send &&
                              schedule.peers(primitive.receive_group).size() == 1;
  if (reduces(primitive.kind) && !only_passes_on) return Work::reduce;
  return sends(primitive.kind) ? Work::copy : Work::store;
}

/// What the thread block pays for the slice that it is at; a switch has none.
inline Seconds slice_cost(const Worker& worker) {
  if (worker.is_agent) return {};
  const Primitive& primitive = worker.current();
  if (!sends(primitive.kind) || worker.peers(primitive.receive_group).empty()) {
    return worker.slice_cost;
  }
  const bool copies = work_of(*worker.schedule, primitive) == Work::copy;
  return copies ? worker.slice_cost + worker.cost->copy_slice : worker.slice_cost;
}

/// The most at which a worker moves the piece that it is at, which has so many bytes on the wire. A
/// switch is as fast as its links.
inline BytesPerSecond rate_of(const Worker& worker, double bytes) {
  if (worker.is_agent) return unlimited;
  const Work work = work_of(*worker.schedule, worker.current());
  if (worker.round == 0) return worker.speed * worker.cost->rate(work);
  const std::int64_t bytes_of_data = worker.bytes_of_piece();
  Seconds time = worker.cost->rounds(work, bytes_of_data, worker.round);
  if (worker.cold > 0 && reads_own(worker.current().kind)) {
    time += worker.cost->cold_rounds(work, bytes_of_data, worker.round, worker.cold);
  }
  if (time.value <= 0) return unlimited;
  return {worker.speed * bytes / time.value};
}

}  // namespace collsim
