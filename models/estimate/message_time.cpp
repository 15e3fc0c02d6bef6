#include "models/estimate/message_time.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/slice_cost.h"

namespace collsim {

namespace {

constexpr MemoryOps send_work = operations_of(PrimitiveKind::send, 0, 1);
constexpr MemoryOps receive_work = operations_of(PrimitiveKind::recv, 1, 0);

/// What a part is cut into.
struct Chunks {
  double size = 0;  ///< in bytes, of all but the last
  double number = 1;
  double last = 0;
};

Chunks chunks_of(const MessageCall& call) {
  Chunks chunks;
  chunks.size = std::min(call.chunk, call.part);
  chunks.number = call.part > 0 ? std::ceil(call.part / call.chunk) : 1;
  chunks.last = call.part - (chunks.number - 1) * call.chunk;
  return chunks;
}

/// The slices of one lane.
struct LaneTimes {
  SliceTime sent;
  SliceTime received;
  SliceTime last_received;
};

LaneTimes lane_times(const LaneSetting& lane, const Chunks& chunks) {
  SliceWork work;
  work.share = INFINITY;
  LaneTimes times;
  work.bytes = chunks.size;
  work.operations = receive_work;
  times.received = slice_time(lane, work);
  work.bytes = chunks.last;
  times.last_received = slice_time(lane, work);
  work.bytes = chunks.size;
  work.operations = send_work;
  work.waits = false;
  times.sent = slice_time(lane, work);
  return times;
}

/// What the CPU threads of a network take, in seconds.
struct ProxyTimes {
  double all = 0;    ///< of the busiest thread or stream, for the whole call
  double slice = 0;  ///< of one
};

ProxyTimes proxy_times(const MessageShape& shape, const ProxyConstants& proxy, const Chunks& chunks,
                       double wire, double slice) {
  ProxyTimes times;
  const double copying = proxy_copying(proxy, wire);
  const double longer = proxy_rendezvous(proxy, slice);
  const double busy =
      shape.served_sends * (chunks.number * (proxy.send.value + longer) + copying) +
      shape.served_receives * (chunks.number * (proxy.receive.value + longer) + copying);
  const double lane_parts = std::max(shape.lane_sends, shape.lane_receives);
  times.all = std::max(busy, lane_parts * wire / proxy_rate(proxy, slice).value);
  times.slice = proxy_time(proxy, slice, INFINITY, {});
  return times;
}

}  // namespace

FormulaTime message_time(const MessageShape& shape, const ThreadBlockCosts& costs,
                         const MessageCall& call) {
  const ProtocolConstants& cost = costs[static_cast<std::size_t>(shape.slowest)];
  const auto kind = static_cast<std::size_t>(shape.kind);
  const double alpha = shape.latency + message_alpha(costs[kind], shape.kind, false).value;
  LaneSetting lane = lane_setting(cost, call.protocol, call.warps_of_block, call.warps);
  lane.speed = shape.speed;
  const Chunks chunks = chunks_of(call);
  const LaneTimes times = lane_times(lane, chunks);
  const BlockSetting setting = block_setting(cost, call.protocol, false);
  const double send_seconds = 1 / (shape.speed * busy_rate_of(cost, send_work, setting).value);
  const double receive_seconds =
      1 / (shape.speed * busy_rate_of(cost, receive_work, setting).value);
  const double wire = cost.wire_factor * call.mean_part;
  const double step = slice_step(lane, true, false).value;
  // Without jitter all that share a link pay their steps at once, while it lies idle.
  const double steps = call.synchronized ? shape.lane_sends * chunks.number * step : 0;
  const double on_links = wire * shape.link_load + steps;
  const double block =
      wire * (shape.block_sends * send_seconds + shape.block_receives * receive_seconds);
  const double lane_send = shape.lane_sends * chunks.number * times.sent.occupancy();
  const double lane_receive = shape.lane_receives * chunks.number * times.received.occupancy();
  ProxyTimes proxy;
  if (shape.has_proxy) {
    proxy = proxy_times(shape, *call.proxy, chunks, wire, cost.wire_factor * chunks.size);
  }
  FormulaTime time;
  if (cost.flags_lines()) {
    const double moving = std::max({block, on_links, lane_send, lane_receive, proxy.all});
    time.total = times.sent.head() + alpha + moving;
    time.busy = std::max(lane_send, lane_receive);
    return time;
  }
  const double stored_last = wire / chunks.number * shape.block_receives * receive_seconds;
  const double last_moving = times.last_received.moving;
  const double moved =
      std::max({on_links - (call.synchronized ? step : 0) + std::max(stored_last, last_moving),
                block, lane_send - step + last_moving, lane_receive - step + times.sent.moving});
  time.total = 2 * step + alpha + std::max(moved + proxy.slice, proxy.all);
  time.busy = std::max({block + step, on_links, lane_send, lane_receive});
  time.network_busy = proxy.all;
  return time;
}

}  // namespace collsim
