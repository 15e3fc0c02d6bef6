#include "sim/fabric/native_fabric.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/base/scramble.h"

namespace collsim {
namespace {

/// Times closer than this, relative to the clock, differ by rounding only: far above one rounding
/// (1e-16), and so small that ten thousand steps of it stay below 1e-9.
constexpr double same_instant = 1e-14;
constexpr double infinity = std::numeric_limits<double>::infinity();
/// Weights are whole numbers of these: their sums stay exact, however many flows come and go.
constexpr double weight_units = std::uint64_t{1} << 42U;
/// Sums of a thousand of these stay whole.
constexpr double max_weight = 1U << 12U;

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
  std::vector<Load> limited;
  limited.reserve(loads.size());
  for (const Load& load : loads) {
    if (std::isfinite(sharing_.capacity(load.resource))) limited.push_back(load);
  }
  paths_of_routes_.push_back(take_path(limited));
  return static_cast<RouteId>(paths_of_routes_.size() - 1);
}

/// The path of these loads, of which there is but one.
std::uint32_t NativeFabric::take_path(std::span<const Load> loads) {
  std::uint64_t hash = 0;
  for (const Load& load : loads) {
    hash = scramble(hash ^ load.resource ^ std::uint64_t{load.times} << 32U);
  }
  const auto [begin, end] = paths_by_hash_.equal_range(hash);
  for (auto known = begin; known != end; ++known) {
    if (std::ranges::equal(loads_of(paths_[known->second]), loads)) return known->second;
  }
  const auto path = static_cast<std::uint32_t>(paths_.size());
  paths_.push_back(
      {static_cast<std::uint32_t>(loads_.size()), static_cast<std::uint32_t>(loads.size()), none});
  loads_.insert(loads_.end(), loads.begin(), loads.end());
  paths_by_hash_.emplace(hash, path);
  return path;
}

void NativeFabric::start_flow(RouteId route, double bytes, const FlowRate& rate, EventTag tag) {
  assert(bytes >= 0 && std::isfinite(bytes) && rate.cap.value > 0);
  assert(rate.weight > 0);
  if (bytes == 0) {
    queue_.push(now_, {tag, empty_flow_version});
    return;
  }
  Flow flow;
  const double weight = std::clamp(rate.weight, 1 / weight_units, max_weight);
  flow.weight = static_cast<std::uint64_t>(std::llround(weight * weight_units));
  flow.tag = tag;
  add_flow(route, bytes / weight, rate.cap, flow);
}

/// A flow that has so much to move for each unit of its weight.
void NativeFabric::add_flow(RouteId route, double left, BytesPerSecond cap, const Flow& flow) {
  const std::uint32_t path = paths_of_routes_[route];
  assert(paths_[path].length > 0 || std::isfinite(cap.value));
  const BundleId id = take_bundle(path, cap);
  Bundle& bundle = bundles_[id];
  FlowId slot = free_flow_;
  if (slot == none) {
    slot = static_cast<FlowId>(flows_.size());
    flows_.push_back(flow);
  } else {
    free_flow_ = flows_[slot].next;
    flows_[slot] = flow;
  }
  flows_[slot].route = route;
  flows_[slot].end = moved(bundle) + left;
  bundle.weight += flow.weight;
  insert(bundle, slot);
  touch(id);
}

/// One of this cap, or an empty one that has it from now on.
NativeFabric::BundleId NativeFabric::take_bundle(std::uint32_t path, BytesPerSecond cap) {
  BundleId empty = none;
  for (BundleId id = paths_[path].first_bundle; id != none; id = bundles_[id].next) {
    const Bundle& bundle = bundles_[id];
    if (bundle.cap == cap) return id;
    if (bundle.weight == 0 && bundle.shared_weight == 0) empty = id;
  }
  if (empty == none) {
    empty = sharing_.add_flow(loads_of(paths_[path]));
    Bundle bundle;
    bundle.next = paths_[path].first_bundle;
    bundles_.push_back(bundle);
    paths_[path].first_bundle = empty;
  }
  bundles_[empty].cap = cap;
  return empty;
}

/// Behind all that end no later. Most flows end after those that began before them.
void NativeFabric::insert(Bundle& bundle, FlowId id) {
  Flow& flow = flows_[id];
  flow.previous = bundle.last;
  while (flow.previous != none && flows_[flow.previous].end > flow.end) {
    flow.previous = flows_[flow.previous].previous;
  }
  FlowId& before = flow.previous == none ? bundle.first : flows_[flow.previous].next;
  flow.next = std::exchange(before, id);
  (flow.next == none ? bundle.last : flows_[flow.next].previous) = id;
}

void NativeFabric::remove(Bundle& bundle, FlowId id) {
  Flow& flow = flows_[id];
  (flow.previous == none ? bundle.first : flows_[flow.previous].next) = flow.next;
  (flow.next == none ? bundle.last : flows_[flow.next].previous) = flow.previous;
  bundle.weight -= flow.weight;
  flow.next = std::exchange(free_flow_, id);
}

void NativeFabric::touch(BundleId id) {
  if (!std::exchange(bundles_[id].touched, true)) touched_.push_back(id);
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
  const std::uint32_t path = paths_of_routes_[from];
  const std::uint32_t new_path = paths_of_routes_[to];
  assert(from != to && paths_[path].length > 0 && paths_[new_path].length > 0);
  for (BundleId id = paths_[path].first_bundle; id != none; id = bundles_[id].next) {
    const double moved_by_now = moved(bundles_[id]);
    for (FlowId f = bundles_[id].first; f != none;) {
      const Flow flow = flows_[f];
      if (flow.route == from && path == new_path) {
        flows_[f].route = to;
      } else if (flow.route == from) {
        const double left = flow.end - moved_by_now;
        if (left > 0) {  // else it is over at this instant
          remove(bundles_[id], f);
          touch(id);
          add_flow(to, left, bundles_[id].cap, flow);
        }
      }
      f = flow.next;
    }
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
        dispatch(queue_.pop(), instant_end, listener);
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
    const BundleId id = completions_.front();
    completions_.remove(id);
    schedule(id);
  }
}

/// Must be known before the clock moves to the front of the queue.
bool NativeFabric::is_stale(FabricEvent event) const {
  if (event.version < first_version) return false;
  if (event.version == bucket_version) return buckets_.empty_at(event.id) != queue_.time();
  return bundles_[event.id].version != event.version;
}

void NativeFabric::dispatch(FabricEvent event, double instant_end, FabricListener& listener) {
  if (event.version == timer_version) {
    listener.on_timer(event.id);
  } else if (event.version == empty_flow_version) {
    listener.on_flow_done(event.id);
  } else if (event.version == bucket_version) {
    empty_bucket(event.id);
  } else if (bundles_[event.id].version == event.version) {
    cancel(event.id);
    end_flows(event.id, instant_end, listener);
  }
}

/// Those of the bundle that are over at this instant: none where they were redirected at it. The
/// listener may start others meanwhile.
void NativeFabric::end_flows(BundleId id, double instant_end, FabricListener& listener) {
  touch(id);
  while (finish_of_first(bundles_[id]) <= instant_end) {
    const FlowId first = bundles_[id].first;
    remove(bundles_[id], first);
    listener.on_flow_done(flows_[first].tag);
  }
  bundles_[id].finish = infinity;
}

void NativeFabric::empty_bucket(ResourceId id) {
  if (buckets_.empty_at(id) > now_ * (1 + same_instant)) return;  // used otherwise since
  buckets_.run_empty(id, now_);
  sharing_.note_change(id);
}

/// Tells MaxMinSharing which bundles weigh something else than at the last solve.
void NativeFabric::share_weights() {
  for (const BundleId id : touched_) {
    Bundle& bundle = bundles_[id];
    if (bundle.weight == bundle.shared_weight) continue;
    const double weight = static_cast<double>(bundle.weight) / weight_units;
    if (bundle.weight == 0) {
      sharing_.end(id);
      bundle.level = 0;
      bundle.moved = 0;
    } else if (bundle.shared_weight == 0) {
      sharing_.start(id, {bundle.cap, weight});
    } else {
      sharing_.set_weight(id, weight);
    }
    bundle.shared_weight = bundle.weight;
  }
}

void NativeFabric::update_rates() {
  share_weights();
  if (sharing_.solve(buckets_, now_)) {
    for (const BundleId id : sharing_.unhindered()) {
      bundles_[id].unhindered = true;
      set_level(id);
    }
    for (const BundleId id : sharing_.solved()) {
      bundles_[id].unhindered = false;
      set_level(id);
    }
    use_buckets();
  }
  for (const BundleId id : touched_) {
    bundles_[id].touched = false;
    await(id);
  }
  touched_.clear();
}

void NativeFabric::use_buckets() {
  for (const ResourceId id : sharing_.used_buckets()) {
    const double empty_at = buckets_.use(id, sharing_.load(id), now_);
    if (std::isfinite(empty_at)) queue_.push(empty_at, {id, bucket_version});
  }
}

/// What a flow of weight 1 has moved by now.
double NativeFabric::moved(const Bundle& bundle) const {
  return bundle.moved + bundle.level * (now_ - bundle.settled);
}

/// Infinite: there is none, or it stands still with something to move.
double NativeFabric::finish_of_first(const Bundle& bundle) const {
  if (bundle.first == none) return infinity;
  const double left = flows_[bundle.first].end - bundle.moved;
  if (bundle.level == 0) return left > 0 ? infinity : now_;
  return std::max(bundle.settled + left / bundle.level, now_);
}

/// To what its share is now.
void NativeFabric::set_level(BundleId id) {
  Bundle& bundle = bundles_[id];
  if (bundle.level == sharing_.level(id)) return;
  bundle.moved = moved(bundle);
  bundle.settled = now_;
  bundle.level = sharing_.level(id);
  touch(id);
}

/// The end of its first flow, which may be another one now.
void NativeFabric::await(BundleId id) {
  Bundle& bundle = bundles_[id];
  const double finish = finish_of_first(bundle);
  if (finish == bundle.finish) return;
  bundle.finish = finish;
  if (!std::isfinite(finish)) {
    cancel(id);
  } else if (bundle.unhindered) {
    cancel(id);
    schedule(id);
  } else {
    if (bundle.scheduled) cancel(id);
    completions_.set(id, finish);  // in place of the one that it had
  }
}

void NativeFabric::schedule(BundleId id) {
  Bundle& bundle = bundles_[id];
  bundle.scheduled = true;
  queue_.push(bundle.finish, {id, bundle.version});
}

/// Takes its completion back, if it has one.
void NativeFabric::cancel(BundleId id) {
  Bundle& bundle = bundles_[id];
  if (!bundle.scheduled) {
    completions_.remove(id);
    return;
  }
  bundle.scheduled = false;
  if (++bundle.version == bucket_version) bundle.version = first_version;
}

}  // namespace collsim
