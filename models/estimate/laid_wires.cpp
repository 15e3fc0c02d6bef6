#include "models/estimate/laid_wires.h"

#include <algorithm>
#include <utility>

namespace collsim {

LaidWires::LaidWires(const CallCompiler& compiler, NcclAlgorithm algorithm, LinkStates states,
                     KnownWays::OfAlgorithm* known)
    : states_(std::move(states)),
      wires_(compiler.topology(), compiler.spec().gpus, compiler.cost_of(algorithm),
             compiler.hop_rules(algorithm), states_, known) {}

LaidWires::Id LaidWires::lay(std::uint32_t channel, Rank from, Rank to) {
  const Wire wire = wires_.lay(channel, from, to);
  return add({channel, from, to, wire.kind, wire.latency.value}, wire);
}

void LaidWires::lay_there_and_back(std::uint32_t channel, Rank rank, DeviceId site) {
  for (const Wire& wire :
       {wires_.lay_to_switch(channel, rank, site), wires_.lay_from_switch(channel, site, rank)}) {
    add({channel, rank, rank, wire.kind, wire.latency.value}, wire);
  }
}

LaidWires::Id LaidWires::add(const Hop& hop, const Wire& wire) {
  hops_.push_back(hop);
  resources_.insert(resources_.end(), wire.resources.begin(), wire.resources.end());
  network_.push_back(resources_.size());
  resources_.insert(resources_.end(), wire.network.begin(), wire.network.end());
  first_.push_back(resources_.size());
  return static_cast<Id>(hops_.size() - 1);
}

/// A machine that nobody asks about with faults needs no index.
void LaidWires::index() {
  of_.resize(wires_.resources());
  for (; indexed_ < hops_.size(); ++indexed_) {
    for (const ResourceId resource : resources(indexed_)) of_[resource].push_back(indexed_);
  }
}

std::vector<bool> LaidWires::loads_changed(const LinkStates& states) {
  std::vector<bool> loads(hops_.size());
  if (states.empty()) return loads;
  index();
  for (const auto& [link, state] : states) {
    const auto resource = wires_.resource_of(link);
    if (!resource || *resource >= of_.size()) continue;
    for (const Id id : of_[*resource]) loads[id] = true;
  }
  return loads;
}

/// Sums go back on the way that copies come, whatever is dead there.
bool LaidWires::is_cut(Id id, const StateOf& state_of) const {
  if (hops_[id].from == hops_[id].to) return false;
  const auto own = resources(id);
  return std::any_of(own.begin(), own.end(), [&](ResourceId resource) {
    return state_of[resource] != nullptr && state_of[resource]->avoided;
  });
}

void LaidWires::add_changed(Id id, const StateOf& state_of, Changes& changes) {
  const Hop& hop = hops_[id];
  Changed changed{id, true, hop.latency};
  if (is_cut(id, state_of)) {
    Wire detour = wires_.lay(hop.channel, hop.from, hop.to);
    changed.is_slow = wires_.is_changed(detour);
    changed.latency = detour.latency.value;
    changes.detours.emplace(id, std::move(detour));
  } else {
    for (const ResourceId resource : resources(id)) {
      const LinkState* const state = state_of[resource];
      if (state != nullptr) changed.latency += state->mean_delay().value;
    }
  }
  changes.wires.push_back(changed);
}

/// Detours may have come to use more.
std::vector<double> LaidWires::capacities(const LinkStates& states) {
  wires_.set_states({});
  for (auto resource = static_cast<ResourceId>(healthy_capacities_.size());
       resource < wires_.resources(); ++resource) {
    healthy_capacities_.push_back(wires_.capacity(resource).value);
  }
  if (states.empty()) {
    wires_.set_states(states_);
    return healthy_capacities_;
  }
  wires_.set_states(states);
  std::vector<double> capacities = healthy_capacities_;
  for (const auto& [link, state] : states) {
    const auto resource = wires_.resource_of(link);
    if (resource) capacities[*resource] = wires_.capacity(*resource).value;
  }
  wires_.set_states(states_);
  return capacities;
}

LaidWires::Changes LaidWires::changes(const LinkStates& states,
                                      const std::function<bool(Id)>& counts) {
  Changes changes;
  if (!states.empty()) {
    wires_.set_states(states);
    const std::vector<bool> loads = loads_changed(states);
    StateOf state_of(wires_.resources());
    for (const auto& [link, state] : states) {
      if (const auto resource = wires_.resource_of(link)) state_of[*resource] = &state;
    }
    for (Id id = 0; id < hops_.size(); ++id) {
      if (loads[id] && counts(id)) add_changed(id, state_of, changes);
    }
  }
  changes.capacities = capacities(states);
  return changes;
}

void WireUsage::load(std::span<const ResourceId> resources, double weight) {
  for (const ResourceId resource : resources) {
    if (resource >= users_.size()) users_.resize(resource + std::size_t{1});
    users_[resource] += weight;
  }
}

void WireUsage::add(LaidWires::Id first, LaidWires::Id end) {
  for (LaidWires::Id id = first; id < end; ++id) {
    load(wires_->resources(id), weight_);
    ++of_late_[wires_->hop(id).latency];
  }
}

void WireUsage::change(const LaidWires::Changes& changes) {
  for (const LaidWires::Changed& changed : changes.wires) {
    --of_late_[wires_->hop(changed.id).latency];
    if (!changed.is_slow) ++of_late_[changed.latency];
  }
  for (const auto& [id, detour] : changes.detours) {
    load(wires_->resources(id), -weight_);
    load(detour.resources, weight_);
    load(detour.network, weight_);
  }
}

double WireUsage::longest_latency() const {
  double longest = 0;
  for (const auto& [latency, count] : of_late_) {
    if (count > 0) longest = std::max(longest, latency);
  }
  return longest;
}

double WireUsage::busiest_beside(const LaidWires::Changes& changes,
                                 const std::vector<bool>& left_out) const {
  double most = 0;
  for (ResourceId resource = 0; resource < users_.size(); ++resource) {
    if (users_[resource] <= 0 || left_out[resource]) continue;
    most = std::max(most, users_[resource] / changes.capacities[resource]);
  }
  return most;
}

double WireUsage::busiest(const LaidWires::Changes& changes) const {
  return busiest_beside(changes, std::vector<bool>(users_.size()));
}

double WireUsage::busiest_beside_slow(const LaidWires::Changes& changes) const {
  std::vector<bool> loaded(changes.capacities.size());
  const auto leave_out = [&](std::span<const ResourceId> resources) {
    for (const ResourceId resource : resources) loaded[resource] = true;
  };
  for (const LaidWires::Changed& changed : changes.wires) {
    if (!changed.is_slow) continue;
    const auto detour = changes.detours.find(changed.id);
    if (detour == changes.detours.end()) {
      leave_out(wires_->resources(changed.id));
    } else {
      leave_out(detour->second.resources);
      leave_out(detour->second.network);
    }
  }
  return busiest_beside(changes, loaded);
}

}  // namespace collsim
