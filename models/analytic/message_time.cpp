#include "models/analytic/message_time.h"

#include <algorithm>
#include <cmath>

#include "models/analytic/slice_time.h"
#include "sim/cost/warps.h"

namespace collsim {

FormTime message_time(const MessageShape& shape, const ThreadBlockCosts& costs,
                      const MessageCall& call) {
  constexpr Operations send{1, 0, 0, 1};
  constexpr Operations receive{0, 1, 1, 0};
  const ProtocolCost& cost = costs[static_cast<std::size_t>(shape.slowest)];
  const auto kind = static_cast<std::size_t>(shape.kind);
  const double alpha = shape.latency + costs[kind].alpha[kind].value;
  const LaneSetting lane{&cost, call.warps, static_cast<double>(full_warps(call.protocol)),
                         {},    false,      shape.speed};
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
  const BlockSetting setting{
      full_warps(call.protocol) * static_cast<double>(cost.warp_granule.count), false};
  const double send_seconds = 1 / (shape.speed * busy_rate_of(cost, send, setting).value);
  const double receive_seconds = 1 / (shape.speed * busy_rate_of(cost, receive, setting).value);
  const double wire = cost.wire_factor * call.mean_part;
  // Without jitter all that share a link pay their steps at once, while it lies idle.
  const double steps = call.in_step ? shape.lane_parts * chunks * cost.step.value : 0;
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
    const double copy = proxy.copying(slice);
    proxy_send = proxy.send.value + copy;
    proxy_receive = proxy.receive.value + copy;
  }
  if (cost.flags_lines()) {
    const double moving = std::max({block, on_links, lane_send, lane_receive, by_proxy});
    time.total = sent.head() + alpha + std::max(moving, lane_receive);
    time.busy = std::max(lane_send, lane_receive);
    return time;
  }
  const double step = cost.step.value;
  const double moved =
      std::max({on_links - (call.in_step ? step : 0) + std::max(stored_last, last_received.moving),
                block, lane_send - step + last_received.moving, lane_receive - step + sent.moving});
  time.total = 2 * step + alpha + std::max(moved + proxy_send, by_proxy) + proxy_receive;
  time.busy = std::max({block + step, on_links, lane_send, lane_receive});
  time.apart = by_proxy;
  return time;
}

}  // namespace collsim
