#include "sim/fabric/uncontended_fabric.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace collsim {
namespace {

// What an event's version says here.
constexpr std::uint32_t timer = 0;
constexpr std::uint32_t flow = 1;

}  // namespace

ResourceId UncontendedFabric::add_resource(BytesPerSecond capacity) {
  assert(capacity.value > 0);
  capacities_.push_back(capacity.value);
  return static_cast<ResourceId>(capacities_.size() - 1);
}

void UncontendedFabric::let_burst(ResourceId resource, const Burst& burst) {
  capacities_[resource] = burst.peak.value;
}

RouteId UncontendedFabric::add_route(std::span<const ResourceId> resources) {
  routes_.emplace_back(resources.begin(), resources.end());
  return static_cast<RouteId>(routes_.size() - 1);
}

void UncontendedFabric::start_flow(RouteId route, double bytes, const FlowRate& rate,
                                   EventTag tag) {
  double least = rate.highest().value;
  for (const ResourceId resource : routes_[route]) least = std::min(least, capacities_[resource]);
  assert(bytes >= 0 && std::isfinite(bytes));
  assert(std::isfinite(least) || bytes == 0);
  if (bytes == 0) {
    queue_.push(now_, {tag, flow});
  } else if (least > 0) {
    queue_.push(now_ + bytes / least, {tag, flow});
  }
}

void UncontendedFabric::start_timer(Seconds delay, EventTag tag) {
  assert(delay.value >= 0 && std::isfinite(delay.value));
  queue_.push(now_ + delay.value, {tag, timer});
}

void UncontendedFabric::set_capacity(ResourceId resource, BytesPerSecond capacity) {
  assert(now_ == 0 && "rates do not change while flows run here");
  capacities_[resource] = capacity.value;
}

void UncontendedFabric::redirect(RouteId /*from*/, RouteId /*to*/) {
  assert(false && "flows do not move here");
}

void UncontendedFabric::run(FabricListener& listener) {
  while (!queue_.empty()) {
    now_ = queue_.time();
    const FabricEvent event = queue_.pop();
    if (event.version == timer) {
      listener.on_timer(event.id);
    } else {
      listener.on_flow_done(event.id);
    }
  }
}

}  // namespace collsim
