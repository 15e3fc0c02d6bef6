#include "models/estimate/hop_classes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace collsim {

namespace {

bool near(double one, double other) {
  constexpr double rounding = 1e-6;
  return one == other || std::abs(one - other) <= rounding * std::abs(one);
}

bool is_among(std::span<const ResourceId> resources, ResourceId resource) {
  return std::find(resources.begin(), resources.end(), resource) != resources.end();
}

}  // namespace

UsedChannels used_channels(const NcclChunking& cut) {
  constexpr std::size_t many = 8;
  constexpr double steps = 4;
  UsedChannels used{static_cast<std::uint32_t>(cut.shares.size()), 1};
  if (cut.shares.size() < 2 || cut.shares.size() > many) return used;
  const auto bytes = [](const NcclShare& share) {
    return static_cast<double>((std::int64_t{share.loops} - 1) * share.full.count) +
           static_cast<double>(std::min(share.last, share.last_total).count);
  };
  const double share = bytes(cut.shares.back()) / bytes(cut.shares.front());
  used.of_last = std::clamp(std::round(share * steps) / steps, 1 / steps, 1.0);
  return used;
}

HopClasses::HopClasses(const LaidHops& hops, const UsedChannels& channels,
                       const std::vector<std::uint32_t>& schedules)
    : hops_(&hops),
      users_(hops.resource_count()),
      hops_of_(hops.size()),
      together_(hops.resource_count()) {
  const Tasks tasks = count(channels);
  const LinkConditions healthy = hops.conditions({});
  order_by_time(channels, schedules);
  for (std::uint32_t first = 0; first < by_time_.size();) {
    const std::uint32_t end = hops_of_[by_time_[first]].end;
    find(first, end, healthy, tasks);
    first = end;
  }
}

HopClasses::Tasks HopClasses::count(const UsedChannels& channels) {
  Tasks tasks{std::vector<double>(hops_->ranks()), std::vector<double>(hops_->ranks())};
  for (Id id = 0; id < hops_->size(); ++id) {
    const LaidHops::Hop& hop = hops_->hop(id);
    if (hop.channel >= channels.count) continue;
    kinds_.insert(hop.kind);
    for (const ResourceId resource : hops_->resources(id)) {
      users_[resource] += channels.weight(hop.channel);
    }
    if (hops_->network(id).empty()) continue;
    ++tasks.sends[hop.from];
    ++tasks.receives[hop.to];
  }
  return tasks;
}

void HopClasses::order_by_time(const UsedChannels& channels,
                               const std::vector<std::uint32_t>& schedules) {
  const auto time_of = [&](Id id) {
    const LaidHops::Hop& hop = hops_->hop(id);
    return std::pair{schedules[hop.channel], hop.group};
  };
  for (Id id = 0; id < hops_->size(); ++id) {
    if (hops_->hop(id).channel < channels.count) by_time_.push_back(id);
  }
  std::stable_sort(by_time_.begin(), by_time_.end(),
                   [&](Id one, Id other) { return time_of(one) < time_of(other); });
  for (auto first = by_time_.begin(); first != by_time_.end();) {
    const auto end = std::find_if(first, by_time_.end(),
                                  [&](Id other) { return time_of(other) != time_of(*first); });
    for (auto id = first; id != end; ++id) {
      hops_of_[*id].first = static_cast<std::uint32_t>(first - by_time_.begin());
      hops_of_[*id].end = static_cast<std::uint32_t>(end - by_time_.begin());
    }
    first = end;
  }
}

/// What those hops are that are at the same time.
void HopClasses::find(std::uint32_t first, std::uint32_t end, const LinkConditions& healthy,
                      const Tasks& tasks) {
  const auto ids = std::span(by_time_).subspan(first, end - first);
  for (const Id id : ids) {
    for (const ResourceId resource : hops_->to_proxy(id)) ++together_[resource];
    for (const ResourceId resource : hops_->network(id)) {
      if (!is_among(hops_->to_proxy(id), resource)) ++together_[resource];
    }
  }
  for (const Id id : ids) {
    SharedHop& hop = hops_of_[id];
    hop.narrow = narrow_links(id, healthy);
    if (hop.narrow.to_proxy) hop.together = together_[*hop.narrow.to_proxy];
    if (hop.narrow.network) hop.together_in_network = together_[*hop.narrow.network];
    hop.healthy = alone(id, tasks);
    set_shares(hop.healthy, hop, healthy);
  }
  for (const Id id : ids) {
    for (const ResourceId resource : hops_->resources(id)) together_[resource] = 0;
  }
}

/// What a hop is but for what links carry.
HopClass HopClasses::alone(Id id, const Tasks& tasks) const {
  const LaidHops::Hop& hop = hops_->hop(id);
  HopClass alone;
  alone.kind = hop.kind;
  alone.latency = hop.latency;
  alone.capacity = std::numeric_limits<double>::infinity();
  if (hops_->network(id).empty()) return alone;
  alone.network_capacity = std::numeric_limits<double>::infinity();
  alone.network_users = 1;
  alone.sends = tasks.sends[hop.from];
  alone.receives = tasks.receives[hop.from];
  const auto ids =
      std::span(by_time_).subspan(hops_of_[id].first, hops_of_[id].end - hops_of_[id].first);
  alone.at_once = {0, 0};
  for (const Id other : ids) {
    if (hops_->network(other).empty()) continue;
    if (hops_->hop(other).from == hop.from) ++alone.at_once.sends;
    if (hops_->hop(other).to == hop.to) ++alone.at_once.receives;
  }
  return alone;
}

HopClasses::NarrowLinks HopClasses::narrow_links(Id hop, const LinkConditions& now) const {
  const auto narrowest = [&](std::span<const ResourceId> resources) {
    std::optional<ResourceId> found;
    double least = std::numeric_limits<double>::infinity();
    for (const ResourceId resource : resources) {
      const double each = now.capacities[resource] / users_[resource];
      if (each >= least) continue;
      least = each;
      found = resource;
    }
    return found;
  };
  return {narrowest(hops_->to_proxy(hop)), narrowest(hops_->network(hop))};
}

/// Of the hops at the same time as one, those that load a resource.
double HopClasses::together_on(ResourceId resource, Id hop) const {
  const auto first = by_time_.begin();
  return static_cast<double>(
      std::count_if(first + hops_of_[hop].first, first + hops_of_[hop].end,
                    [&](Id each) { return is_among(hops_->resources(each), resource); }));
}

void HopClasses::set_shares(HopClass& hop_class, const SharedHop& hop,
                            const LinkConditions& now) const {
  if (const auto narrowest = hop.narrow.network) {
    hop_class.network_capacity = now.capacities[*narrowest];
    hop_class.network_users = users_[*narrowest];
    hop_class.network_others = std::max(0.0, hop_class.network_users - hop.together_in_network);
  }
  if (const auto narrowest = hop.narrow.to_proxy) {
    hop_class.capacity = now.capacities[*narrowest];
    hop_class.synchronous_users = hop.together;
    hop_class.other_users = users_[*narrowest] - hop.together;
  }
}

HopClass HopClasses::of(Id id, const LinkConditions& now) const {
  if (!hops_->is_changed(id, now)) return of(id);
  SharedHop hop = hops_of_[id];
  const NarrowLinks before = hop.narrow;
  hop.narrow = narrow_links(id, now);
  if (hop.narrow.to_proxy != before.to_proxy) {
    hop.together = together_on(*hop.narrow.to_proxy, id);
  }
  if (hop.narrow.network != before.network) {
    hop.together_in_network = together_on(*hop.narrow.network, id);
  }
  hop.healthy.latency = hops_->latency(id, now);
  set_shares(hop.healthy, hop, now);
  return hop.healthy;
}

bool alike(const HopClass& one, const HopClass& other) {
  return one.kind == other.kind && near(one.latency, other.latency) &&
         near(one.capacity, other.capacity) &&
         near(one.synchronous_users, other.synchronous_users) &&
         near(one.other_users, other.other_users) && near(one.network_users, other.network_users) &&
         near(one.network_others, other.network_others) &&
         near(one.network_capacity, other.network_capacity) && near(one.sends, other.sends) &&
         near(one.receives, other.receives) && near(one.at_once.sends, other.at_once.sends) &&
         near(one.at_once.receives, other.at_once.receives);
}

}  // namespace collsim
