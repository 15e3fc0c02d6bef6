#include "sim/fabric/native_fabric.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace collsim {
namespace {

/// Times closer than this, relative to the clock, differ by rounding only: far above one rounding
/// (1e-16), and so small that ten thousand steps of it stay below 1e-9.
constexpr double same_instant = 1e-14;
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

ResourceId NativeFabric::add_resource(BytesPerSecond capacity) {
  assert(capacity.value > 0);
  return sharing_.add_resource(capacity.value);
}

void NativeFabric::let_burst(ResourceId resource, const Burst& burst) {
  buckets_.add(resource, burst, sharing_.capacity(resource));
  sharing_.let_burst(resource, buckets_.peak(resource));
}

RouteId NativeFabric::add_route(std::span<const ResourceId> resources) {
  std::vector<Load> loads;
  loads.reserve(resources.size());
  for (const ResourceId resource : resources) loads.push_back({resource, 1});
  return add_folded_route(loads);
}

RouteId NativeFabric::add_folded_route(std::span<const Load> loads) {
  Route route;
  route.first = static_cast<std::uint32_t>(route_loads_.size());
  for (const Load& load : loads) {
    if (std::isfinite(sharing_.capacity(load.resource))) route_loads_.push_back(load);
  }
  route.length = static_cast<std::uint32_t>(route_loads_.size()) - route.first;
  routes_.push_back(route);
  return static_cast<RouteId>(routes_.size() - 1);
}

void NativeFabric::start_flow(RouteId route, double bytes, const FlowRate& rate, EventTag tag) {
  assert(bytes >= 0 && std::isfinite(bytes) && rate.cap.value > 0);
  assert(rate.weight > 0 && std::isfinite(rate.weight));
  const FlowId id = take_flow(route);
  Flow& flow = flows_[id];
  assert(routes_[route].length > 0 || std::isfinite(rate.cap.value) || bytes == 0);
  flow.tag = tag;
  flow.remaining = bytes;
  flow.settled = now_;
  flow.rate = 0;
  if (bytes == 0) {
    flow.finish = now_;
    schedule(id);
    return;
  }
  flow.finish = infinity;
  if (!std::exchange(flow.leaving, false)) {
    sharing_.start(id, rate);
  } else if (rate.cap == flow.max.cap && rate.weight == flow.max.weight) {
    next_.push_back(id);
  } else {
    sharing_.change(id, rate);
  }
  flow.max = rate;
}

void NativeFabric::start_timer(Seconds delay, EventTag tag) {
  assert(delay.value >= 0 && std::isfinite(delay.value));
  queue_.push(now_ + delay.value, {tag, timer_version});
}

void NativeFabric::set_capacity(ResourceId resource, BytesPerSecond capacity) {
  assert(capacity.value >= 0 && std::isfinite(capacity.value));
  assert(std::isfinite(sharing_.capacity(resource)));
  if (buckets_.has(resource)) {
    buckets_.set_sustained(resource, capacity.value, now_);
    sharing_.set_capacity(resource, buckets_.peak(resource));
  } else {
    sharing_.set_capacity(resource, capacity.value);
  }
}

void NativeFabric::redirect(RouteId from, RouteId to) {
  assert(from != to && routes_[from].length > 0 && routes_[to].length > 0);
  const auto flows = static_cast<FlowId>(flows_.size());
  for (FlowId id = 0; id < flows; ++id) {
    if (flows_[id].route != from || !sharing_.is_running(id) || flows_[id].leaving) continue;
    settle(flows_[id]);
    const Flow flow = flows_[id];
    release(id);
    start_flow(to, flow.remaining, flow.max, flow.tag);
  }
}

void NativeFabric::run(FabricListener& listener) {
  update_rates();
  schedule_next_completions();
  while (!queue_.empty()) {
    if (is_stale(queue_.front())) {  // must not move the clock
      queue_.pop();
    } else {
      now_ = queue_.time();
      const double instant_end = now_ * (1 + same_instant);
      while (!queue_.empty() && queue_.time() <= instant_end) {
        dispatch(queue_.pop(), listener);
      }
      update_rates();
    }
    schedule_next_completions();
  }
}

/// Those that may be next: they are in the queue when the clock moves to its front.
void NativeFabric::schedule_next_completions() {
  while (!completions_.empty() &&
         (queue_.empty() || completions_.time() <= queue_.time() * (1 + same_instant))) {
    const FlowId id = completions_.front();
    completions_.remove(id);
    schedule(id);
  }
}

/// Must be known before the clock moves to the front of the queue.
bool NativeFabric::is_stale(FabricEvent event) const {
  if (event.version == timer_version) return false;
  if (event.version == bucket_version) return buckets_.empty_at(event.id) != queue_.time();
  return flows_[event.id].version != event.version;
}

void NativeFabric::dispatch(FabricEvent event, FabricListener& listener) {
  if (event.version == timer_version) {
    listener.on_timer(event.id);
    return;
  }
  if (event.version == bucket_version) {
    empty_bucket(event.id);
    return;
  }
  if (flows_[event.id].version != event.version) {
    return;
  }
  const EventTag tag = flows_[event.id].tag;
  release(event.id);
  listener.on_flow_done(tag);
}

NativeFabric::FlowId NativeFabric::take_flow(RouteId route_id) {
  Route& route = routes_[route_id];
  if (route.free_flow != none) {
    const FlowId id = route.free_flow;
    route.free_flow = flows_[id].next_free;
    return id;
  }
  Flow flow;
  flow.route = route_id;
  flow.version = timer_version + 1;
  flows_.push_back(flow);
  return sharing_.add_flow(std::span(route_loads_).subspan(route.first, route.length));
}

void NativeFabric::release(FlowId id) {
  cancel(id);
  Flow& flow = flows_[id];
  if (sharing_.is_running(id) && !flow.leaving) {
    flow.leaving = true;
    leaving_.push_back(id);
  }
  flow.next_free = routes_[flow.route].free_flow;
  routes_[flow.route].free_flow = id;
}

void NativeFabric::empty_bucket(ResourceId id) {
  if (buckets_.empty_at(id) > now_ * (1 + same_instant)) return;  // used otherwise since
  buckets_.run_empty(id, now_);
  sharing_.note_change(id);
}

void NativeFabric::update_rates() {
  end_leaving();
  if (sharing_.solve(buckets_, now_)) {
    for (const FlowId id : sharing_.unhindered()) {
      cancel(id);
      set_rate(id);
      if (std::isfinite(flows_[id].finish)) schedule(id);
    }
    for (const FlowId id : sharing_.solved()) await(id);
    use_buckets();
  }
  for (const FlowId id : next_) {
    if (sharing_.is_running(id)) await(id);  // it was not redirected since
  }
  next_.clear();
}

void NativeFabric::end_leaving() {
  for (const FlowId id : leaving_) {
    if (std::exchange(flows_[id].leaving, false)) sharing_.end(id);
  }
  leaving_.clear();
}

/// The end of a flow whose rate may change again before.
void NativeFabric::await(FlowId id) {
  if (flows_[id].rate == sharing_.rate(id)) return;
  set_rate(id);
  if (std::isfinite(flows_[id].finish)) {
    if (flows_[id].scheduled) cancel(id);
    completions_.set(id, flows_[id].finish);  // in place of the one that it had
  } else {
    cancel(id);
  }
}

void NativeFabric::use_buckets() {
  for (const ResourceId id : sharing_.used_buckets()) {
    const double empty_at = buckets_.use(id, sharing_.load(id), now_);
    if (std::isfinite(empty_at)) queue_.push(empty_at, {id, bucket_version});
  }
}

/// Takes off what the flow has moved until now.
void NativeFabric::settle(Flow& flow) const {
  flow.remaining = std::max(flow.remaining - flow.rate * (now_ - flow.settled), 0.0);
  flow.settled = now_;
}

/// To what its share is now. The completion that it has is the caller's to take back.
void NativeFabric::set_rate(FlowId id) {
  Flow& flow = flows_[id];
  settle(flow);
  flow.rate = sharing_.rate(id);
  flow.finish = flow.rate > 0        ? now_ + flow.remaining / flow.rate
                : flow.remaining > 0 ? infinity
                                     : now_;
}

void NativeFabric::schedule(FlowId id) {
  Flow& flow = flows_[id];
  flow.scheduled = true;
  queue_.push(flow.finish, {id, flow.version});
}

/// Takes its completion back, if it has one.
void NativeFabric::cancel(FlowId id) {
  Flow& flow = flows_[id];
  if (!flow.scheduled) {
    completions_.remove(id);
    return;
  }
  flow.scheduled = false;
  if (++flow.version == bucket_version) {
    flow.version = timer_version + 1;
  }
}

}  // namespace collsim
