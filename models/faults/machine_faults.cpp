#include "models/faults/machine_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/machine/plan_wiring.h"
#include "models/machine/resource_table.h"
#include "sim/base/input_error.h"
#include "sim/routing/routing.h"
#include "sim/topologies/reduced_topology.h"

namespace collsim {

namespace {

bool holds(const LinkFault& fault, Seconds at) {
  return fault.from <= at && (!fault.until || at < *fault.until);
}

/// When traffic leaves a dead link.
Seconds noticed(const LinkFault& fault) {
  return fault.from.value > 0 ? fault.from + fault.detection : fault.from;
}

/// Of several faults the worst bandwidth counts; traffic and latencies add up.
LinkState state_of(const MachineFaults& faults, const Topology& topology, LinkId link, Seconds at) {
  LinkState state;
  double taken = 0;
  const double whole = topology.link(link).bandwidth.value;
  for (const LinkFault& fault : faults.links) {
    if (!holds(fault, at)) continue;
    if (std::find(fault.links.begin(), fault.links.end(), link) == fault.links.end()) continue;
    state.share = std::min(state.share, fault.share);
    if (fault.rate) state.share = std::min(state.share, fault.rate->value / whole);
    if (fault.traffic) taken += fault.traffic->value / whole;
    if (fault.dead) state.share = 0;
    state.latency += fault.latency;
    state.jitter += fault.jitter;
    state.avoided = state.avoided || (fault.dead && noticed(fault) <= at);
  }
  state.share = std::max(state.share - taken, 0.0);
  return state;
}

/// Calls `visit(link)` for every link that a wire crosses.
template <typename Visit>
void for_each_link(const Wire& wire, const Wiring& wiring, const Visit& visit) {
  for (const auto* resources : {&wire.resources, &wire.network}) {
    for (const ResourceId resource : *resources) {
      const ResourceOrigin& origin = wiring.origins[resource];
      if (!origin.shared) visit(LinkId{origin.id});
    }
  }
}

/// What a hop through host memory loads whatever its links are.
std::vector<ResourceId> host_shares(const Wire& wire, const Wiring& wiring) {
  std::vector<ResourceId> shares;
  for (const ResourceId resource : wire.resources) {
    if (wiring.origins[resource].host) shares.push_back(resource);
  }
  return shares;
}

class FaultLayer {
 public:
  FaultLayer(const MachineFaults& faults, const Plan& plan, const Topology& topology,
             std::span<const DeviceId> gpus, const Calibration& cost, Wiring wiring,
             const HopRules& rules)
      : faults_(faults), plan_(plan), topology_(topology), gpus_(gpus), cost_(cost), rules_(rules) {
    layout_.wiring = std::move(wiring);
    for (const Seconds at : instants_of(faults)) {
      instants_.push_back(at);
      states_.push_back(states_at(faults, topology, at));
    }
  }

  FaultyLayout lay() && {
    layout_.events.seed = faults_.seed;
    for (const Seconds at : instants_) layout_.events.changes.push_back({at});
    change_wires();
    change_capacities();
    std::erase_if(layout_.events.changes, [](const MachineChange& change) {
      return change.capacities.empty() && change.wires.empty();
    });
    disturb_ranks();
    return std::move(layout_);
  }

 private:
  /// The wires that cross a link of a fault, at every instant.
  void change_wires() {
    find_affected();
    const std::vector<std::vector<Wire>> healthy = layout_.wiring.wires;
    std::vector<Wire> before;
    for (std::size_t i = 0; i < instants_.size(); ++i) {
      const std::vector<Wire> wires = wires_at(i, healthy);
      for (std::size_t w = 0; w < wires.size(); ++w) {
        const auto [channel, connection] = affected_[w];
        Wire& base = layout_.wiring.wires[channel][connection];
        if (i == 0) base = wires[w];
        WireChange change{channel, connection, wires[w], false, {}};
        const Wire& last = i == 0 ? base : before[w];
        change.moves = wires[w].resources != last.resources || wires[w].network != last.network;
        add_lateness(i, change);
        add_if_new(i, w, change);
      }
      before = wires;
    }
  }

  void find_affected() {
    const Wiring& wiring = layout_.wiring;
    for (std::uint32_t channel = 0; channel < wiring.wires.size(); ++channel) {
      for (std::uint32_t i = 0; i < wiring.wires[channel].size(); ++i) {
        bool crosses = false;
        for_each_link(wiring.wires[channel][i], wiring,
                      [&](LinkId link) { crosses = crosses || states_.front().count(link) != 0; });
        if (crosses) affected_.emplace_back(channel, i);
      }
    }
    late_.resize(affected_.size());
  }

  /// The wires of one instant, of the affected connections.
  std::vector<Wire> wires_at(std::size_t instant, const std::vector<std::vector<Wire>>& healthy) {
    std::vector<bool> dead(topology_.links().size());
    bool any_dead = false;
    for (const auto& [link, state] : states_[instant]) {
      if (!state.avoided) continue;
      dead[link] = true;
      any_dead = true;
    }
    std::vector<Wire> wires;
    for (const auto& [channel, connection] : affected_) {
      wires.push_back(healthy[channel][connection]);
    }
    if (any_dead) avoid(dead, wires);
    return wires;
  }

  void avoid(const std::vector<bool>& dead, std::vector<Wire>& wires) {
    const ReducedTopology reduced = without_links(topology_, dead);
    Router router(reduced.topology);
    ResourceTable table(topology_, layout_.wiring);
    for (std::size_t w = 0; w < wires.size(); ++w) {
      bool cut = false;
      for_each_link(wires[w], layout_.wiring, [&](LinkId link) { cut = cut || dead[link]; });
      if (!cut) continue;
      const auto [channel, number] = affected_[w];
      const Schedule& schedule = plan_.schedule(channel);
      const Connection& connection = schedule.connections()[number];
      if (schedule.is_agent(connection.src) || schedule.is_agent(connection.dst)) continue;
      try {
        std::vector<LinkId> way = links_of_hop(reduced.topology, router, gpus_, rules_, channel,
                                               connection.src, connection.dst);
        for (LinkId& link : way) link = reduced.original[link];
        // The proxy that serves a connection stays the one it has, or has not.
        const bool has_proxy = !wires[w].network.empty();
        const std::vector<ResourceId> shares = host_shares(wires[w], layout_.wiring);
        wires[w] = wire_along(topology_, way);
        table.load(wires[w], way, has_proxy);
        wires[w].resources.insert(wires[w].resources.end(), shares.begin(), shares.end());
        if (has_proxy && wires[w].network.empty()) wires[w].network.swap(wires[w].resources);
      } catch (const InputError&) {
        // No way is left: what is sent stands still where it always went.
      }
    }
  }

  void add_lateness(std::size_t instant, WireChange& change) const {
    for_each_link(change.wire, layout_.wiring, [&](LinkId link) {
      const auto state = states_[instant].find(link);
      if (state == states_[instant].end()) return;
      change.wire.latency += state->second.latency;
      change.jitter += state->second.jitter;
    });
  }

  /// Unless all is as it was for this connection.
  void add_if_new(std::size_t instant, std::size_t number, const WireChange& change) {
    auto& [latency, jitter] = late_[number];
    const auto [channel, connection] = affected_[number];
    if (instant == 0) latency = layout_.wiring.wires[channel][connection].latency;
    if (!change.moves && change.wire.latency == latency && change.jitter == jitter) return;
    latency = change.wire.latency;
    jitter = change.jitter;
    layout_.reroutes = layout_.reroutes || change.moves;
    layout_.events.changes[instant].wires.push_back(change);
  }

  void change_capacities() {
    Wiring& wiring = layout_.wiring;
    set_efficiency(wiring, cost_);
    for (ResourceId resource = 0; resource < wiring.origins.size(); ++resource) {
      const ResourceOrigin& origin = wiring.origins[resource];
      if (origin.shared || states_.front().count(origin.id) == 0) continue;
      const BytesPerSecond healthy = wiring.capacities[resource];
      double best = 0;
      for (const LinkStates& states : states_) best = std::max(best, states.at(origin.id).share);
      if (best == 0) best = 1;  // no capacity is 0 but for a while
      wiring.capacities[resource] = best * healthy;
      double before = best;
      for (std::size_t i = 0; i < instants_.size(); ++i) {
        const double share = states_[i].at(origin.id).share;
        if (share == before) continue;
        layout_.events.changes[i].capacities.push_back({resource, share * healthy});
        before = share;
      }
    }
  }

  void disturb_ranks() {
    if (faults_.ranks.empty() && faults_.hosts.empty()) return;
    layout_.events.late.resize(gpus_.size());
    layout_.events.speed.assign(gpus_.size(), 1);
    for (const RankFault& fault : faults_.ranks) {
      layout_.events.late[fault.rank] += fault.late;
      layout_.events.speed[fault.rank] *= fault.speed;
    }
    for (const HostFault& fault : faults_.hosts) {
      for (Rank rank = 0; rank < gpus_.size(); ++rank) {
        if (topology_.node_of(gpus_[rank]) != fault.node) continue;
        layout_.events.late[rank] += fault.late;
        layout_.events.speed[rank] *= fault.speed;
      }
    }
  }

  const MachineFaults& faults_;
  const Plan& plan_;
  const Topology& topology_;
  std::span<const DeviceId> gpus_;
  const Calibration& cost_;
  const HopRules& rules_;
  FaultyLayout layout_;
  std::vector<Seconds> instants_;
  std::vector<LinkStates> states_;  // by instant
  /// Channel and connection of every wire that crosses a link of a fault.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> affected_;
  std::vector<std::pair<Seconds, Seconds>> late_;  // latency and jitter of each until now
};

}  // namespace

std::vector<Seconds> instants_of(const MachineFaults& faults) {
  std::set<Seconds> instants{Seconds{}};
  for (const LinkFault& fault : faults.links) {
    instants.insert(fault.from);
    if (fault.until) instants.insert(*fault.until);
    if (fault.dead && (!fault.until || noticed(fault) < *fault.until)) {
      instants.insert(noticed(fault));
    }
  }
  return {instants.begin(), instants.end()};
}

LinkStates states_at(const MachineFaults& faults, const Topology& topology, Seconds at) {
  LinkStates states;
  for (const LinkFault& fault : faults.links) {
    for (const LinkId link : fault.links) {
      if (states.count(link) == 0) states[link] = state_of(faults, topology, link, at);
    }
  }
  return states;
}

FaultyLayout lay_faults(const MachineFaults& faults, const Plan& plan, const Topology& topology,
                        std::span<const DeviceId> gpus, const Calibration& cost, Wiring wiring,
                        const HopRules& rules) {
  return FaultLayer(faults, plan, topology, gpus, cost, std::move(wiring), rules).lay();
}

Wiring wiring_as_it_begins(const Wiring& wiring, const MachineEvents& events) {
  const auto refuse = [](const char* what) {
    throw InputError(fmt::format("{} in the analytic model", what),
                     "faults of links that hold for the whole call, without jitter, or `collsim "
                     "run`");
  };
  if (!events.late.empty()) refuse("a late or slow rank");
  Wiring begun = wiring;
  for (const MachineChange& change : events.changes) {
    if (change.at.value > 0) refuse("a fault that comes or goes");
    for (const CapacityChange& capacity : change.capacities) {
      if (capacity.capacity.value == 0) refuse("a dead link that nothing leads around");
      begun.capacities[capacity.resource] = capacity.capacity;
    }
    for (const WireChange& wire : change.wires) {
      if (wire.jitter.value > 0) refuse("jitter");
      begun.wires[wire.channel][wire.connection] = wire.wire;
    }
  }
  return begun;
}

std::vector<std::string> links_that_stay_dead(const Wiring& wiring, const MachineEvents& events,
                                              const Topology& topology) {
  std::map<ResourceId, bool> dead;
  for (const MachineChange& change : events.changes) {
    for (const CapacityChange& capacity : change.capacities) {
      dead[capacity.resource] = capacity.capacity.value == 0;
    }
  }
  std::vector<std::string> names;
  for (const auto& [resource, is_dead] : dead) {
    if (is_dead) names.push_back(topology.link_name(wiring.origins[resource].id));
  }
  return names;
}

}  // namespace collsim
