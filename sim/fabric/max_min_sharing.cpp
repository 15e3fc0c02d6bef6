#include "sim/fabric/max_min_sharing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace collsim {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Rates closer than this, relative to the capacity that they share, differ by rounding only. Too
/// small, and flows are solved that need not be; too large, and rates are wrong by as much.
constexpr double rounding = 1e-13;

constexpr auto higher = [](const auto& a, const auto& b) {
  return a.level != b.level ? a.level > b.level : a.id > b.id;
};

}  // namespace

ResourceId MaxMinSharing::add_resource(double capacity) {
  Resource resource;
  resource.capacity = capacity;
  resource.limit = capacity;
  resources_.push_back(resource);
  return static_cast<ResourceId>(resources_.size() - 1);
}

void MaxMinSharing::let_burst(ResourceId id, double peak) {
  resources_[id].bursts = true;
  resources_[id].limit = peak;
}

MaxMinSharing::FlowId MaxMinSharing::add_flow(std::span<const Load> route) {
  const auto id = static_cast<FlowId>(flows_.size());
  Flow flow;
  flow.first_hop = static_cast<HopId>(hops_.size());
  flow.hops = static_cast<std::uint32_t>(route.size());
  flows_.push_back(flow);
  for (const Load& load : route) {
    const auto times = static_cast<double>(load.times);
    hops_.push_back({load.resource, id, none, none, 0, times, times});
  }
  return id;
}

void MaxMinSharing::start(FlowId id, const FlowRate& rate) {
  Flow& flow = flows_[id];
  if (flow.rate != rate || flow.limits != limits_) {
    flow.rate = rate;
    bound(flow);
  }
  flow.level = 0;
  flow.bottleneck = none;
  flow.running = true;
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
    resource.demand += hop.share;
  }
  started_.push_back(id);
}

void MaxMinSharing::set_weight(FlowId id, double weight) {
  flows_[id].rate.weight = weight;
  bound_again(id);
}

void MaxMinSharing::end(FlowId id) {
  Flow& flow = flows_[id];
  flow.running = false;
  if (flow.bottleneck != none) {
    --resources_[flow.bottleneck].held;
  }
  for (const Hop& hop : hops_of(flow)) {
    Resource& resource = resources_[hop.resource];
    (hop.previous == none ? resource.first_hop : hops_[hop.previous].next) = hop.next;
    if (hop.next != none) {
      hops_[hop.next].previous = hop.previous;
    }
    resource.demand -= hop.share;
    --resource.flows;
    if (resource.held > 0 || resource.bursts) {
      changed_.push_back(hop.resource);
    }
  }
}

void MaxMinSharing::set_capacity(ResourceId id, double capacity) {
  Resource& resource = resources_[id];
  resource.capacity = capacity;
  resource.limit = capacity;
  ++limits_;
  changed_.push_back(id);
  for (HopId h = resource.first_hop; h != none; h = hops_[h].next) {
    bound_again(hops_[h].flow);
  }
}

double MaxMinSharing::load(ResourceId id) const {
  double sum = 0;
  for (HopId h = resources_[id].first_hop; h != none; h = hops_[h].next) {
    sum += hops_[h].weight * flows_[hops_[h].flow].level;
  }
  return sum;
}

double MaxMinSharing::slack(const Resource& resource) {
  return rounding * resource.capacity;
}

/// Shares are whole numbers, so that sums of them stay exact.
void MaxMinSharing::bound(Flow& flow) {
  flow.limits = limits_;
  flow.bound = flow.rate.cap.value;
  flow.narrowest = none;
  for (Hop& hop : hops_of(flow)) {
    hop.weight = hop.times * flow.rate.weight;
    if (resources_[hop.resource].limit <= hop.weight * flow.bound) {
      flow.bound = resources_[hop.resource].limit / hop.weight;
      flow.narrowest = hop.resource;
    }
  }
  for (Hop& hop : hops_of(flow)) {
    const double limit = resources_[hop.resource].limit;
    const double part = limit > 0 ? hop.weight * flow.bound / limit : 1;
    hop.share = static_cast<std::uint64_t>(std::llround(part * static_cast<double>(whole)));
  }
}

/// Not if there is a resource that is full by then.
bool MaxMinSharing::can_reach_bound(const Flow& flow) const {
  return flow.narrowest == none || !can_hold(resources_[flow.narrowest]);
}

/// After a change of limits or of its weight. What the flow could use of other resources changes
/// too: they may hold others no longer.
void MaxMinSharing::bound_again(FlowId id) {
  for (const Hop& hop : hops_of(flows_[id])) {
    resources_[hop.resource].demand -= hop.share;
  }
  bound(flows_[id]);
  for (const Hop& hop : hops_of(flows_[id])) {
    Resource& resource = resources_[hop.resource];
    resource.demand += hop.share;
    if (resource.held > 0 || resource.bursts) changed_.push_back(hop.resource);
  }
  started_.push_back(id);
}

bool MaxMinSharing::solve(TokenBuckets& buckets, double now) {
  unhindered_.clear();
  solved_.clear();
  used_buckets_.clear();
  if (started_.empty() && changed_.empty()) return false;
  token_buckets_ = &buckets;
  now_ = now;
  ++round_;
  choose_flows(buckets, now);
  if (!solved_.empty() || !changed_.empty()) {
    do {
      fill();
    } while (take_in_unsettled());
    apply();
  }
  started_.clear();
  changed_.clear();
  return true;
}

void MaxMinSharing::choose_flows(TokenBuckets& buckets, double now) {
  for (const FlowId id : started_) {
    if (!flows_[id].running || flows_[id].round == round_) continue;  // it was redirected since
    if (is_unhindered(flows_[id])) {
      run_unhindered(id, buckets, now);
    } else {
      take_in(id);
    }
  }
  for (const ResourceId resource : changed_) {
    take_in_held(resource);
  }
}

bool MaxMinSharing::is_unhindered(const Flow& flow) {
  for (const Hop& hop : hops_of(flow)) {
    const Resource& resource = resources_[hop.resource];
    if (resource.flows > 1 && can_hold(resource)) {
      return false;
    }
  }
  return true;
}

void MaxMinSharing::run_unhindered(FlowId id, TokenBuckets& buckets, double now) {
  Flow& flow = flows_[id];
  flow.round = round_;
  if (flow.bottleneck != none) {
    --resources_[flow.bottleneck].held;
  }
  flow.bottleneck = none;
  flow.level = flow.bound;
  for (const Hop& hop : hops_of(flow)) {
    Resource& resource = resources_[hop.resource];
    if (!resource.bursts) continue;
    resource.capacity = buckets.capacity(hop.resource, now);
    used_buckets_.push_back(hop.resource);
    if (resource.capacity < hop.weight * flow.level) {
      flow.level = resource.capacity / hop.weight;
      flow.bottleneck = hop.resource;
    }
  }
  if (flow.bottleneck != none) {
    ++resources_[flow.bottleneck].held;
    resources_[flow.bottleneck].level = flow.level;
  }
  unhindered_.push_back(id);
}

void MaxMinSharing::take_in(FlowId id) {
  if (flows_[id].round == round_) return;
  flows_[id].round = round_;
  solved_.push_back(id);
}

void MaxMinSharing::take_in_held(ResourceId id) {
  if (resources_[id].held == 0) return;
  for (HopId h = resources_[id].first_hop; h != none; h = hops_[h].next) {
    if (flows_[hops_[h].flow].bottleneck == id) {
      take_in(hops_[h].flow);
    }
  }
}

void MaxMinSharing::fill() {
  begin_pass();
  while (open_flows_ > 0) {
    if (bound_levels_.empty() ||
        (!resource_levels_.empty() && lowest_bound_ > resource_levels_.front().level)) {
      fill_lowest();
      continue;
    }
    const Level bound = take_lowest_bound();
    if (flows_[bound.id].new_level < 0) {
      fix(bound.id, bound.level, none);
    }
  }
}

void MaxMinSharing::add_bound(FlowId id) {
  const Flow& flow = flows_[id];
  if (!can_reach_bound(flow)) return;
  bound_levels_.push_back({flow.bound, id});
  if (bounds_are_heap_) std::push_heap(bound_levels_.begin(), bound_levels_.end(), higher);
  lowest_bound_ = std::min(lowest_bound_, flow.bound);
}

/// Most solves reach no bound, and need no order of them.
MaxMinSharing::Level MaxMinSharing::take_lowest_bound() {
  if (!std::exchange(bounds_are_heap_, true)) {
    std::make_heap(bound_levels_.begin(), bound_levels_.end(), higher);
  }
  std::pop_heap(bound_levels_.begin(), bound_levels_.end(), higher);
  const Level lowest = bound_levels_.back();
  bound_levels_.pop_back();
  lowest_bound_ = bound_levels_.empty() ? infinity : bound_levels_.front().level;
  return lowest;
}

void MaxMinSharing::begin_pass() {
  ++pass_;
  seen_.clear();
  resource_levels_.clear();
  bound_levels_.clear();
  open_flows_ = solved_.size();
  bounds_are_heap_ = false;
  lowest_bound_ = infinity;
  for (const FlowId id : solved_) {
    flows_[id].new_level = -1;
    add_bound(id);
  }
  for (const FlowId id : solved_) {
    for (const Hop& hop : hops_of(flows_[id])) {
      look_at(hop.resource);
    }
  }
  for (const ResourceId resource : changed_) {
    look_at(resource);
  }
  for (const ResourceId id : seen_) {
    if (resources_[id].open == 0) continue;
    resources_[id].queued = level_left(resources_[id]);
    resource_levels_.push_back({resources_[id].queued, id});
  }
  std::make_heap(resource_levels_.begin(), resource_levels_.end(), higher);
  for (const ResourceId id : changed_) {
    const Resource& resource = resources_[id];
    const bool is_seen = resource.pass == pass_;
    if (is_seen && resource.open == 0 && resource.left < -slack(resource)) {
      join_higher(id);
    }
  }
}

/// Finds what the flows that are not being solved leave of it. Summed up anew each time, so that
/// rounding does not add up.
void MaxMinSharing::look_at(ResourceId id) {
  Resource& resource = resources_[id];
  if (resource.pass == pass_ || !can_hold(resource)) return;
  resource.pass = pass_;
  if (resource.bursts) {
    resource.capacity = token_buckets_->capacity(id, now_);
    used_buckets_.push_back(id);
  }
  double out = 0;
  resource.open = 0;
  resource.open_weight = 0;
  resource.out_held = 0;
  resource.held_weight = 0;
  for (HopId h = resource.first_hop; h != none; h = hops_[h].next) {
    const Flow& flow = flows_[hops_[h].flow];
    if (flow.round == round_) {
      ++resource.open;
      resource.open_weight += hops_[h].weight;
      continue;
    }
    out += hops_[h].weight * flow.level;
    if (flow.bottleneck == id) {
      ++resource.out_held;
      resource.held_weight += hops_[h].weight;
    }
  }
  resource.left = resource.capacity - out;
  resource.out = resource.flows - resource.open;
  resource.top = 0;
  resource.queued = infinity;
  seen_.push_back(id);
}

/// The level to which the resource can still lift its open flows, and those who would join.
double MaxMinSharing::level_left(const Resource& resource) {
  return resource.open > 0 ? std::max(resource.left, 0.0) / resource.open_weight : 0;
}

void MaxMinSharing::queue(ResourceId id) {
  Resource& resource = resources_[id];
  const double level = level_left(resource);
  if (level >= resource.queued) return;
  resource.queued = level;
  resource_levels_.push_back({level, id});
  std::push_heap(resource_levels_.begin(), resource_levels_.end(), higher);
}

/// A level in the heap may be outdated, but only too low: the level to which a resource can still
/// lift its open flows rises as flows are fixed below it.
void MaxMinSharing::fill_lowest() {
  const Level lowest = resource_levels_.front();
  std::pop_heap(resource_levels_.begin(), resource_levels_.end(), higher);
  resource_levels_.pop_back();
  Resource& resource = resources_[lowest.id];
  if (lowest.level != resource.queued) return;  // it has come to a lower one since
  resource.queued = infinity;
  if (resource.open == 0) return;
  if (level_left(resource) > lowest.level || join_higher(lowest.id)) {
    queue(lowest.id);
  } else {
    fill_resource(lowest.id, lowest.level);
  }
}

/// The resource is full at this level: its open flows stay there.
void MaxMinSharing::fill_resource(ResourceId id, double level) {
  const Resource& resource = resources_[id];
  for (HopId h = resource.first_hop; h != none && resource.open > 0; h = hops_[h].next) {
    const Flow& flow = flows_[hops_[h].flow];
    if (flow.round == round_ && flow.new_level < 0) {
      fix(hops_[h].flow, level, id);
    }
  }
}

void MaxMinSharing::fix(FlowId id, double level, ResourceId bottleneck) {
  Flow& flow = flows_[id];
  flow.new_level = level;
  flow.new_bottleneck = bottleneck;
  --open_flows_;
  const bool sinks = level < flow.level * (1 - rounding);
  for (const Hop& hop : hops_of(flow)) {
    Resource& resource = resources_[hop.resource];
    if (resource.pass != pass_) continue;
    resource.left -= hop.weight * level;
    resource.top = std::max(resource.top, level);
    --resource.open;
    resource.open_weight -= hop.weight;
    if (sinks && resource.out_held > 0) {
      join_held(hop.resource);
    }
  }
}

/// From now on the flow, which is above the level reached so far, rises with it.
void MaxMinSharing::join(FlowId id) {
  Flow& flow = flows_[id];
  take_in(id);
  flow.new_level = -1;
  ++open_flows_;
  add_bound(id);
  for (const Hop& hop : hops_of(flow)) {
    Resource& resource = resources_[hop.resource];
    if (!can_hold(resource)) continue;
    if (resource.pass == pass_) {
      resource.left += hop.weight * flow.level;
      ++resource.open;
      resource.open_weight += hop.weight;
      --resource.out;
      resource.out_held -= flow.bottleneck == hop.resource ? 1 : 0;
    } else {
      look_at(hop.resource);
    }
    queue(hop.resource);
  }
}

/// The highest join first: each that does leaves more for the others. So do all whom the resource
/// holds at the level that it has now, for they are to stay equal to the last bit.
bool MaxMinSharing::join_higher(ResourceId id) {
  const Resource& resource = resources_[id];
  if (resource.out == 0) return false;
  const double some = slack(resource);
  const auto is_above = [&](const Flow& flow, double level) {
    const double tolerance = flow.bottleneck == id ? -some : some;
    return flow.rate.weight * (flow.level - level) > tolerance;
  };
  higher_.clear();
  const double level_of_all = level_left(resource);
  for (HopId h = resource.first_hop; h != none; h = hops_[h].next) {
    const Flow& flow = flows_[hops_[h].flow];
    if (flow.round != round_ && is_above(flow, level_of_all)) {
      higher_.push_back({flow.level, hops_[h].flow});
    }
  }
  const bool equal = std::all_of(higher_.begin(), higher_.end(), [&](const Level& flow) {
    return flow.level == higher_.front().level;
  });
  if (!equal) std::sort(higher_.begin(), higher_.end(), higher);
  bool joined = false;
  for (const Level& flow : higher_) {
    if (is_above(flows_[flow.id], level_left(resource))) {
      join(flow.id);
      joined = true;
    }
  }
  return joined;
}

/// There is more for those whom the resource holds.
void MaxMinSharing::join_held(ResourceId id) {
  for (HopId h = resources_[id].first_hop; h != none; h = hops_[h].next) {
    const Flow& flow = flows_[hops_[h].flow];
    if (flow.round != round_ && flow.bottleneck == id) {
      join(hops_[h].flow);
    }
  }
}

/// Looks whether all others still have their bottleneck. They do, but for rounding and for buckets
/// that have opened.
bool MaxMinSharing::take_in_unsettled() {
  const std::size_t before = solved_.size();
  for (const ResourceId id : seen_) {
    const Resource& resource = resources_[id];
    if (resource.out_held > 0 &&
        (resource.left > slack(resource) ||
         (resource.top - resource.level) * resource.held_weight > slack(resource))) {
      take_in_held(id);
    }
  }
  return solved_.size() > before;
}

void MaxMinSharing::apply() {
  for (const FlowId id : solved_) {
    Flow& flow = flows_[id];
    if (flow.bottleneck != none) {
      --resources_[flow.bottleneck].held;
    }
    flow.level = flow.new_level;
    flow.bottleneck = flow.new_bottleneck;
    if (flow.bottleneck != none) {
      ++resources_[flow.bottleneck].held;
      resources_[flow.bottleneck].level = flow.level;
    }
  }
}

}  // namespace collsim
