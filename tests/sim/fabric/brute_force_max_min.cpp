#include "tests/sim/fabric/brute_force_max_min.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace collsim {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Times within this of each other, relative to the clock, are one instant.
constexpr double same_instant = 1e-14;

}  // namespace

std::vector<double> max_min_rates(std::span<const double> capacities,
                                  std::span<const Demand> demands) {
  std::vector<double> rates(demands.size(), 0);
  std::vector<bool> open(demands.size(), true);
  while (std::find(open.begin(), open.end(), true) != open.end()) {
    // The level at which each resource would be full if all of its open flows rose to it.
    std::vector<double> full_at(capacities.size(), infinity);
    for (ResourceId r = 0; r < capacities.size(); ++r) {
      double fixed = 0;
      double sharers = 0;
      for (std::size_t f = 0; f < demands.size(); ++f) {
        const auto& route = demands[f].resources;
        const auto times = static_cast<double>(std::count(route.begin(), route.end(), r));
        fixed += open[f] ? 0 : times * rates[f];
        sharers += open[f] ? times * demands[f].weight : 0;
      }
      if (sharers > 0) {
        full_at[r] = (capacities[r] - fixed) / sharers;
      }
    }
    // The lowest level at which an open flow has to stop; those that stop there, stay there.
    std::vector<double> stops_at(demands.size(), infinity);
    for (std::size_t f = 0; f < demands.size(); ++f) {
      if (open[f]) {
        stops_at[f] = demands[f].rate_cap / demands[f].weight;
        for (const ResourceId r : demands[f].resources) {
          stops_at[f] = std::min(stops_at[f], full_at[r]);
        }
      }
    }
    const double level = *std::min_element(stops_at.begin(), stops_at.end());
    for (std::size_t f = 0; f < demands.size(); ++f) {
      if (open[f] && stops_at[f] <= level) {
        rates[f] = demands[f].weight * level;
        open[f] = false;
      }
    }
  }
  return rates;
}

ResourceId BruteForceFabric::add_resource(BytesPerSecond capacity) {
  capacities_.push_back(capacity.value);
  return static_cast<ResourceId>(capacities_.size() - 1);
}

RouteId BruteForceFabric::add_route(std::span<const ResourceId> resources) {
  routes_.emplace_back(resources.begin(), resources.end());
  return static_cast<RouteId>(routes_.size() - 1);
}

void BruteForceFabric::start_flow(RouteId route, double bytes, const FlowRate& rate, EventTag tag) {
  flows_.push_back({bytes, {routes_[route], rate.highest().value, rate.weight}, tag, route});
}

void BruteForceFabric::start_timer(Seconds delay, EventTag tag) {
  timers_.push_back({now_ + delay.value, tag});
}

void BruteForceFabric::set_capacity(ResourceId resource, BytesPerSecond capacity) {
  capacities_[resource] = capacity.value;
}

void BruteForceFabric::redirect(RouteId from, RouteId to) {
  for (Flow& flow : flows_) {
    if (flow.route != from) continue;
    flow.route = to;
    flow.demand.resources = routes_[to];
  }
}

void BruteForceFabric::run(FabricListener& listener) {
  while (!flows_.empty() || !timers_.empty()) {
    const std::vector<double> now_rates = rates();
    note_load(now_rates);
    const double next = time_of_next_event(now_rates);
    if (next == infinity) return;  // all that is left stands still
    report_all_due(now_rates, next, listener);
  }
}

std::vector<double> BruteForceFabric::rates() {
  std::vector<Demand> demands;
  for (const Flow& flow : flows_) {
    demands.push_back(flow.demand);
    if (flow.remaining == 0) {  // over at once, it takes nothing from others
      demands.back() = {{}, 1};
    }
  }
  return max_min_rates(capacities_, demands);
}

void BruteForceFabric::note_load(std::span<const double> rates) {
  std::vector<double> load(capacities_.size(), 0);
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    for (const ResourceId r : flows_[f].demand.resources) {
      load[r] += flows_[f].remaining == 0 ? 0 : rates[f];
    }
  }
  for (std::size_t r = 0; r < load.size(); ++r) {
    if (load[r] > 0) highest_load_ = std::max(highest_load_, load[r] / capacities_[r]);
  }
}

double BruteForceFabric::end_of(double remaining, double rate) const {
  return remaining == 0 ? now_ : rate == 0 ? infinity : now_ + remaining / rate;
}

double BruteForceFabric::time_of_next_event(std::span<const double> rates) const {
  double next = infinity;
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    next = std::min(next, end_of(flows_[f].remaining, rates[f]));
  }
  for (const Timer& timer : timers_) {
    next = std::min(next, timer.time);
  }
  return next;
}

void BruteForceFabric::report_all_due(std::vector<double> rates, double next,
                                      FabricListener& listener) {
  const double last = next * (1 + same_instant);
  std::vector<EventTag> done;
  std::vector<Flow> left;
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    Flow flow = flows_[f];
    if (end_of(flow.remaining, rates[f]) <= last) {
      done.push_back(flow.tag);
    } else {
      flow.remaining -= rates[f] * (next - now_);
      left.push_back(flow);
    }
  }
  flows_ = left;
  const auto due = std::stable_partition(timers_.begin(), timers_.end(),
                                         [&](const Timer& timer) { return timer.time > last; });
  const std::vector<Timer> rung(due, timers_.end());
  timers_.erase(due, timers_.end());
  now_ = next;
  for (const EventTag tag : done) {
    listener.on_flow_done(tag);
  }
  for (const Timer& timer : rung) {
    listener.on_timer(timer.tag);
  }
}

}  // namespace collsim
