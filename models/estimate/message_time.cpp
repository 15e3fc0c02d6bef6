#include "models/estimate/message_time.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/slice_cost.h"

namespace collsim {

FormTime message_time(const MessageShape& shape, const ThreadBlockCosts& costs,
                      const MessageCall& call) {
  constexpr Operations send{1, 0, 0, 1};
  constexpr Operations receive{0, 1, 1, 0};
  const ProtocolCost& cost = costs[static_cast<std::size_t>(shape.slowest)];
  const auto kind = static_cast<std::size_t>(shape.kind);
  const double alpha = shape.latency + message_alpha(costs[kind], shape.kind, false).value;
  LaneSetting lane = lane_setting(cost, call.protocol, call.warps_of_block, call.warps);
  lane.speed = shape.speed;
  const double chunk = std::min(call.chunk, call.part);
  const double chunks = call.part > 0 ? std::ceil(call.part / call.chunk) : 1;
  const double last = call.part - (chunks - 1) * call.chunk;
  SliceWork work;
  work.bytes = chunk;
  work.share = INFINITY;
  work.operations = send;
  work.waits = false;
  const SliceTime sent = slice_time(lane, work);
  work.operations = receive;
  const SliceTime received = slice_time(lane, work);
  work.bytes = last;
  const SliceTime last_received = slice_time(lane, work);
  const BlockSetting setting = block_setting(cost, call.protocol, false);
  const double send_seconds = 1 / (shape.speed * busy_rate_of(cost, send, setting).value);
  const double receive_seconds = 1 / (shape.speed * busy_rate_of(cost, receive, setting).value);
  const double wire = cost.wire_factor * call.mean_part;
  const double step = slice_step(lane, true, false).value;
  // Without jitter all that share a link pay their steps at once, while it lies idle.
  const double steps = call.in_step ? shape.lane_parts * chunks * step : 0;
  const double on_links = wire * shape.link_load + steps;
  const double block =
      wire * (shape.block_sends * send_seconds + shape.block_receives * receive_seconds);
  const double lane_send = shape.lane_parts * chunks * sent.occupancy();
  const double lane_receive = shape.lane_parts * chunks * received.occupancy();
  const double stored_last = wire / chunks * shape.block_receives * receive_seconds;
  FormTime time;
  double by_proxy = 0;
  double proxy_send = 0;
  double proxy_receive = 0;
  if (shape.has_proxy) {
    const ProxyCost& proxy = *call.proxy;
    const double copying = proxy.copying(wire);
    const double slice = cost.wire_factor * chunk;
    by_proxy = shape.served_sends * (chunks * proxy.send.value + copying) +
               shape.served_receives * (chunks * proxy.receive.value + copying);
    by_proxy = std::max(by_proxy, shape.lane_parts * wire / proxy.rate_of(slice).value);
    proxy_send = proxy_send_time(proxy, slice);
    proxy_receive = proxy_receive_time(proxy, slice);
  }
  if (cost.flags_lines()) {
    const double moving = std::max({block, on_links, lane_send, lane_receive, by_proxy});
    time.total = sent.head() + alpha + std::max(moving, lane_receive);
    time.busy = std::max(lane_send, lane_receive);
    return time;
  }
  const double moved =
      std::max({on_links - (call.in_step ? step : 0) + std::max(stored_last, last_received.moving),
                block, lane_send - step + last_received.moving, lane_receive - step + sent.moving});
  time.total = 2 * step + alpha + std::max(moved + proxy_send, by_proxy) + proxy_receive;
  time.busy = std::max({block + step, on_links, lane_send, lane_receive});
  time.apart = by_proxy;
  return time;
}

}  // namespace collsim
