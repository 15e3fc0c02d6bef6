#include "models/machine/laid_hops.h"

#include <utility>

#include "sim/base/input_error.h"

namespace collsim {

LaidHops::LaidHops(const Topology& topology, std::span<const DeviceId> gpus,
                   const Calibration& cost, HopRules rules, const LinkStates& states,
                   RouteCache* cache)
    : topology_(topology),
      gpus_(gpus),
      cost_(cost),
      rules_(std::move(rules)),
      router_(topology),
      table_(topology, wiring_),
      cache_(topology.takes_detours() ? nullptr : cache) {
  for (const auto& [link, state] : states) {
    if (!state.avoided) continue;
    dead_.resize(topology_.links().size());
    dead_[link] = true;
  }
}

LaidHops::Id LaidHops::lay(std::uint32_t channel, Rank from, Rank to, std::uint32_t group) {
  const auto known = ids_.find({channel, from, to});
  if (known != ids_.end()) return known->second;
  Way way = healthy_way(channel, from, to);
  const auto is_dead = [this](LinkId link) { return dead_[link]; };
  if (!dead_.empty() && std::any_of(way.begin(), way.end(), is_dead)) {
    way = around(std::move(way), channel, from, to);
  }
  return add({channel, from, to, group}, way, cost_.proxy.used);
}

LaidHops::Id LaidHops::lay_there_and_back(std::uint32_t channel, Rank rank, DeviceId site) {
  const auto known = ids_.find({channel, rank, rank});
  if (known != ids_.end()) return known->second;
  const Way way = router_.route(site, gpus_[rank], channel).links;
  Way back;
  for (auto link = way.rbegin(); link != way.rend(); ++link) {
    back.push_back(topology_.link(*link).reverse);
  }
  const Id there = add({channel, rank, rank}, back, cost_.proxy.used);
  add({channel, rank, rank}, way, false);
  return there;
}

LaidHops::Id LaidHops::add(const Hop& hop, const Way& way, bool has_proxy) {
  Wire wire = wire_along(topology_, way);
  table_.load(wire, way, has_proxy);
  Hop& added = hops_.emplace_back(hop);
  added.kind = wire.kind;
  added.latency = wire.latency.value;
  resources_.insert(resources_.end(), wire.resources.begin(), wire.resources.end());
  network_.push_back(resources_.size());
  resources_.insert(resources_.end(), wire.network.begin(), wire.network.end());
  first_.push_back(resources_.size());
  return ids_.emplace(HopKey{hop.channel, hop.from, hop.to}, hops_.size() - 1).first->second;
}

LaidHops::Way LaidHops::healthy_way(std::uint32_t channel, Rank from, Rank to) {
  const auto search = [&] {
    return links_of_hop(topology_, router_, gpus_, rules_, channel, from, to);
  };
  if (cache_ == nullptr) return search();
  const HopKey hop{channel, from, to};
  const auto found = cache_->find(hop);
  return found != cache_->end() ? found->second : cache_->emplace(hop, search()).first->second;
}

/// Where no way is left, it stands still where it always went.
LaidHops::Way LaidHops::around(Way way, std::uint32_t channel, Rank from, Rank to) {
  if (!reduced_) {
    reduced_ = without_links(topology_, dead_);
    detours_.emplace(reduced_->topology);
  }
  try {
    Way detour = links_of_hop(reduced_->topology, *detours_, gpus_, rules_, channel, from, to);
    for (LinkId& link : detour) link = reduced_->original[link];
    return detour;
  } catch (const InputError&) {
    return way;
  }
}

LinkConditions LaidHops::conditions(const LinkStates& states) const {
  constexpr double next_to_nothing = 1e-18;
  LinkConditions now;
  now.capacities.resize(resource_count());
  now.delays.resize(resource_count());
  now.changed.resize(resource_count());
  for (ResourceId resource = 0; resource < resource_count(); ++resource) {
    const auto kind = wiring_.kinds[resource];
    double share = kind ? cost_.efficiency[static_cast<std::size_t>(*kind)] : 1;
    const ResourceOrigin& origin = wiring_.origins[resource];
    const auto state = origin.shared ? states.end() : states.find(origin.id);
    if (state != states.end()) {
      share *= std::max(state->second.share, next_to_nothing);
      now.delays[resource] = state->second.mean_delay().value;
      now.changed[resource] = true;
    }
    now.capacities[resource] = (share * wiring_.nominal[resource]).value;
  }
  return now;
}

bool LaidHops::is_changed(Id id, const LinkConditions& now) const {
  const auto own = resources(id);
  return std::any_of(own.begin(), own.end(),
                     [&](ResourceId resource) { return now.changed[resource]; });
}

double LaidHops::latency(Id id, const LinkConditions& now) const {
  double latency = hops_[id].latency;
  for (const ResourceId resource : resources(id)) latency += now.delays[resource];
  return latency;
}

double LaidHops::busiest(const std::vector<double>& users, const LinkConditions& now) const {
  double most = 0;
  for (ResourceId resource = 0; resource < users.size(); ++resource) {
    most = std::max(most, users[resource] / now.capacities[resource]);
  }
  return most;
}

}  // namespace collsim
