#include "sim/native_fabric.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace collsim {
namespace {

/// Times closer than this, relative to the clock, differ by rounding only: far above one rounding
/// (1e-16), and so small that ten thousand steps of it stay below 1e-9.
constexpr double same_instant = 1e-14;
constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr auto higher = [](const auto& a, const auto& b) {
  return a.rate != b.rate ? a.rate > b.rate : a.id > b.id;
};

}  // namespace

ResourceId NativeFabric::add_resource(BytesPerSecond capacity) {
  assert(capacity.value > 0);
  Resource resource;
  resource.capacity = capacity.value;
  resources_.push_back(resource);
  return static_cast<ResourceId>(resources_.size() - 1);
}

void NativeFabric::let_burst(ResourceId resource, const Burst& burst) {
  Resource& limited = resources_[resource];
  assert(burst.peak.value > limited.capacity);
  buckets_.resize(resources_.size());
  Bucket& bucket = buckets_[resource];
  bucket.size = static_cast<double>(burst.size.count);
  bucket.peak = burst.peak.value;
  bucket.sustained = limited.capacity;
  bucket.empty_at = infinity;
  bucket.left = 0;
}

RouteId NativeFabric::add_route(std::span<const ResourceId> resources) {
  Route route;
  route.first = static_cast<std::uint32_t>(route_resources_.size());
  for (const ResourceId resource : resources) {
    if (std::isfinite(resources_[resource].capacity)) {
      route_resources_.push_back(resource);
    }
  }
  route.length = static_cast<std::uint32_t>(route_resources_.size()) - route.first;
  routes_.push_back(route);
  return static_cast<RouteId>(routes_.size() - 1);
}

void NativeFabric::start_flow(RouteId route, double bytes, BytesPerSecond rate_cap, EventTag tag) {
  assert(bytes >= 0 && std::isfinite(bytes) && rate_cap.value > 0);
  const FlowId id = take_flow(route);
  Flow& flow = flows_[id];
  assert(flow.hops > 0 || std::isfinite(rate_cap.value) || bytes == 0);
  flow.tag = tag;
  flow.remaining = bytes;
  flow.settled = now_;
  flow.rate = 0;
  flow.rate_cap = rate_cap.value;
  if (bytes == 0) {
    flow.finish = now_;
    schedule(id);
  } else {
    flow.finish = infinity;
    link(id);
    started_.push_back(id);
  }
}

void NativeFabric::start_timer(Seconds delay, EventTag tag) {
  assert(delay.value >= 0 && std::isfinite(delay.value));
  queue_.push(now_ + delay.value, {tag, timer_version});
}

void NativeFabric::set_capacity(ResourceId resource, BytesPerSecond capacity) {
  assert(capacity.value >= 0 && std::isfinite(capacity.value));
  assert(std::isfinite(resources_[resource].capacity));
  resources_[resource].capacity = capacity.value;
  changed_.push_back(resource);
  if (Bucket* bucket = bucket_of(resource)) {
    settle_bucket(resource);
    bucket->sustained = capacity.value;
    bucket->left = 0;
    resources_[resource].capacity = capacity.value;
  }
}

void NativeFabric::redirect(RouteId from, RouteId to) {
  assert(from != to && routes_[from].length > 0 && routes_[to].length > 0);
  const auto flows = static_cast<FlowId>(flows_.size());
  for (FlowId id = 0; id < flows; ++id) {
    if (flows_[id].route != from || !flows_[id].linked) continue;
    settle(flows_[id]);
    const Flow flow = flows_[id];
    release(id);
    start_flow(to, flow.remaining, BytesPerSecond{flow.rate_cap}, flow.tag);
  }
}

void NativeFabric::run(FabricListener& listener) {
  update_rates();
  while (!queue_.empty()) {
    if (is_stale(queue_.front())) {  // must not move the clock
      queue_.pop();
      continue;
    }
    now_ = queue_.time();
    const double instant_end = now_ * (1 + same_instant);
    while (!queue_.empty() && queue_.time() <= instant_end) {
      dispatch(queue_.pop(), listener);
    }
    update_rates();
  }
}

/// Must be known before the clock moves to the front of the queue.
bool NativeFabric::is_stale(FabricEvent event) const {
  if (event.version == timer_version) return false;
  if (event.version == bucket_version) return buckets_[event.id].empty_at != queue_.time();
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
  Flow& flow = flows_[event.id];
  if (flow.version != event.version) {
    return;
  }
  const EventTag tag = flow.tag;
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
  const auto id = static_cast<FlowId>(flows_.size());
  Flow flow;
  flow.route = route_id;
  flow.first_hop = static_cast<HopId>(hops_.size());
  flow.hops = route.length;
  flow.version = timer_version + 1;
  flows_.push_back(flow);
  for (std::uint32_t i = 0; i < route.length; ++i) {
    hops_.push_back({route_resources_[route.first + i], id, none, none});
  }
  return id;
}

void NativeFabric::release(FlowId id) {
  Flow& flow = flows_[id];
  cancel(flow);
  if (flow.linked) {
    unlink(flow);
  }
  flow.next_free = routes_[flow.route].free_flow;
  routes_[flow.route].free_flow = id;
}

void NativeFabric::link(FlowId id) {
  Flow& flow = flows_[id];
  flow.linked = true;
  for (HopId h = flow.first_hop; h != flow.first_hop + flow.hops; ++h) {
    Hop& hop = hops_[h];
    Resource& resource = resources_[hop.resource];
    hop.previous = none;
    hop.next = resource.first_hop;
    if (hop.next != none) {
      hops_[hop.next].previous = h;
    }
    resource.first_hop = h;
    ++resource.flows;
  }
}

void NativeFabric::unlink(Flow& flow) {
  flow.linked = false;
  for (const Hop& hop : hops_of(flow)) {
    Resource& resource = resources_[hop.resource];
    (hop.previous == none ? resource.first_hop : hops_[hop.previous].next) = hop.next;
    if (hop.next != none) {
      hops_[hop.next].previous = hop.previous;
    }
    if (--resource.flows > 0) {
      changed_.push_back(hop.resource);
    } else if (Bucket* bucket = bucket_of(hop.resource)) {
      settle_bucket(hop.resource);
      bucket->used = 0;
      bucket->empty_at = infinity;
    }
  }
}

bool NativeFabric::is_alone(const Flow& flow) {
  for (const Hop& hop : hops_of(flow)) {
    if (resources_[hop.resource].flows > 1) {
      return false;
    }
  }
  return true;
}

/// Takes off what was used until now; says what the resource carries from now on.
void NativeFabric::settle_bucket(ResourceId id) {
  // A bucket opens again when there is something in it to speak of: at a full load rounding alone
  // must not do it.
  constexpr double share_to_open = 0x1p-7;
  Bucket& bucket = buckets_[id];
  const double gained = (bucket.sustained - bucket.used) * (now_ - bucket.settled);
  bucket.left = std::clamp(bucket.left + gained, 0.0, bucket.size);
  bucket.settled = now_;
  if (bucket.left > share_to_open * bucket.size && bucket.sustained > 0) {
    resources_[id].capacity = std::max(bucket.peak, bucket.sustained);
  }
}

/// The rates of its flows have changed.
void NativeFabric::use_bucket(ResourceId id) {
  Bucket& bucket = buckets_[id];
  bucket.used = 0;
  for (HopId h = resources_[id].first_hop; h != none; h = hops_[h].next) {
    bucket.used += flows_[hops_[h].flow].rate;
  }
  bucket.empty_at = infinity;
  const bool is_open = resources_[id].capacity > bucket.sustained;
  if (!is_open || bucket.used <= bucket.sustained) return;
  bucket.empty_at = now_ + bucket.left / (bucket.used - bucket.sustained);
  queue_.push(bucket.empty_at, {id, bucket_version});
}

void NativeFabric::empty_bucket(ResourceId id) {
  Bucket& bucket = buckets_[id];
  if (bucket.empty_at > now_ * (1 + same_instant)) return;  // used otherwise since
  bucket.left = 0;
  bucket.settled = now_;
  bucket.empty_at = infinity;
  resources_[id].capacity = bucket.sustained;
  changed_.push_back(id);
}

void NativeFabric::update_rates() {
  if (started_.empty() && changed_.empty()) {
    return;
  }
  ++round_;
  for (const FlowId id : started_) {
    if (!flows_[id].linked) continue;  // it was redirected since
    if (is_alone(flows_[id])) {
      run_alone(id);
    } else if (flows_[id].round != round_) {
      collect_from(hops_[flows_[id].first_hop].resource);
      solve_component();
    }
  }
  for (const ResourceId resource : changed_) {
    if (resources_[resource].flows > 0 && resources_[resource].round != round_) {
      collect_from(resource);
      solve_component();
    }
  }
  started_.clear();
  changed_.clear();
}

void NativeFabric::run_alone(FlowId id) {
  Flow& flow = flows_[id];
  double rate = flow.rate_cap;
  for (const Hop& hop : hops_of(flow)) {
    if (bucket_of(hop.resource) != nullptr) settle_bucket(hop.resource);
    rate = std::min(rate, resources_[hop.resource].capacity);
  }
  set_rate(flow, rate);
  if (std::isfinite(flow.finish)) schedule(id);
  for (const Hop& hop : hops_of(flow)) {
    if (bucket_of(hop.resource) != nullptr) use_bucket(hop.resource);
  }
}

/// Finds everything that is joined to the resource by flows.
void NativeFabric::collect_from(ResourceId resource) {
  component_flows_.clear();
  component_resources_.assign(1, resource);
  resources_[resource].round = round_;
  for (std::size_t i = 0; i < component_resources_.size(); ++i) {
    for (HopId h = resources_[component_resources_[i]].first_hop; h != none; h = hops_[h].next) {
      Flow& flow = flows_[hops_[h].flow];
      if (flow.round == round_) {
        continue;
      }
      flow.round = round_;
      component_flows_.push_back(hops_[h].flow);
      for (const Hop& hop : hops_of(flow)) {
        if (resources_[hop.resource].round != round_) {
          resources_[hop.resource].round = round_;
          component_resources_.push_back(hop.resource);
        }
      }
    }
  }
}

void NativeFabric::solve_component() {
  for (const ResourceId resource : component_resources_) {
    if (bucket_of(resource) != nullptr) settle_bucket(resource);
  }
  open_component();
  fill_component();
  apply_rates();
  for (const ResourceId resource : component_resources_) {
    if (bucket_of(resource) != nullptr) use_bucket(resource);
  }
}

void NativeFabric::open_component() {
  resource_levels_.clear();
  for (const ResourceId id : component_resources_) {
    Resource& resource = resources_[id];
    resource.left = resource.capacity;
    resource.open = resource.flows;
    resource_levels_.push_back({resource.left / resource.open, id});
  }
  std::make_heap(resource_levels_.begin(), resource_levels_.end(), higher);

  cap_levels_.clear();
  for (const FlowId id : component_flows_) {
    Flow& flow = flows_[id];
    flow.new_rate = -1;
    if (can_bind(flow)) {
      cap_levels_.push_back({flow.rate_cap, id});
    }
  }
  std::make_heap(cap_levels_.begin(), cap_levels_.end(), higher);
  open_flows_ = component_flows_.size();
}

/// Whether the flow's rate cap can be what limits it.
bool NativeFabric::can_bind(const Flow& flow) {
  const auto hops = hops_of(flow);
  return std::all_of(hops.begin(), hops.end(), [&](const Hop& hop) {
    return flow.rate_cap < resources_[hop.resource].capacity;
  });
}

void NativeFabric::fill_component() {
  while (open_flows_ > 0) {
    if (cap_levels_.empty() || cap_levels_.front().rate > resource_levels_.front().rate) {
      refresh_lowest_level();
      continue;
    }
    const Level cap = cap_levels_.front();
    std::pop_heap(cap_levels_.begin(), cap_levels_.end(), higher);
    cap_levels_.pop_back();
    if (flows_[cap.id].new_rate < 0) {
      fix(cap.id, cap.rate);
    }
  }
}

/// A level in the heap may be outdated, but only too low: what a resource can still give to each
/// open flow rises as flows are fixed below it.
void NativeFabric::refresh_lowest_level() {
  std::pop_heap(resource_levels_.begin(), resource_levels_.end(), higher);
  Level& lowest = resource_levels_.back();
  const Resource& resource = resources_[lowest.id];
  const double share = resource.left / resource.open;
  if (resource.open > 0 && share > lowest.rate) {
    lowest.rate = share;
    std::push_heap(resource_levels_.begin(), resource_levels_.end(), higher);
    return;
  }
  fill_resource(lowest.id, lowest.rate);
  resource_levels_.pop_back();
}

/// The resource is full at this rate: its open flows stay there.
void NativeFabric::fill_resource(ResourceId id, double rate) {
  for (HopId h = resources_[id].first_hop; resources_[id].open > 0; h = hops_[h].next) {
    if (flows_[hops_[h].flow].new_rate < 0) {
      fix(hops_[h].flow, rate);
    }
  }
}

void NativeFabric::fix(FlowId id, double rate) {
  Flow& flow = flows_[id];
  flow.new_rate = rate;
  --open_flows_;
  for (const Hop& hop : hops_of(flow)) {
    Resource& resource = resources_[hop.resource];
    resource.left = std::max(resource.left - rate, 0.0);
    --resource.open;
  }
}

/// Takes off what the flow has moved until now.
void NativeFabric::settle(Flow& flow) const {
  flow.remaining = std::max(flow.remaining - flow.rate * (now_ - flow.settled), 0.0);
  flow.settled = now_;
}

void NativeFabric::set_rate(Flow& flow, double rate) const {
  flow.rate = rate;
  flow.finish = rate > 0 ? now_ + flow.remaining / rate : flow.remaining > 0 ? infinity : now_;
}

/// Of a component only the next completion needs an event: it changes the component, so that all
/// others are decided anew then.
void NativeFabric::apply_rates() {
  double next = infinity;
  for (const FlowId id : component_flows_) {
    Flow& flow = flows_[id];
    if (flow.new_rate != flow.rate) {
      settle(flow);
      set_rate(flow, flow.new_rate);
      cancel(flow);
    }
    next = std::min(next, flow.finish);
  }
  if (next == infinity) return;  // all stand still
  const double last = next * (1 + same_instant);
  for (const FlowId id : component_flows_) {
    if (!flows_[id].scheduled && flows_[id].finish <= last) {
      schedule(id);
    }
  }
}

void NativeFabric::schedule(FlowId id) {
  Flow& flow = flows_[id];
  flow.scheduled = true;
  queue_.push(flow.finish, {id, flow.version});
}

void NativeFabric::cancel(Flow& flow) {
  if (flow.scheduled) {
    flow.scheduled = false;
    if (++flow.version == bucket_version) {
      flow.version = timer_version + 1;
    }
  }
}

}  // namespace collsim
