#include "models/machine/plan_wiring.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "models/machine/host_memory.h"
#include "models/machine/resource_table.h"
#include "models/machine/switch_placement.h"
#include "sim/base/input_error.h"
#include "sim/routing/routing.h"

namespace collsim {

namespace {

/// The CPU to which a GPU has the fewest links; nothing where its node has none.
std::optional<DeviceId> nearest_cpu(const Topology& topology, Router& router, DeviceId gpu) {
  std::optional<DeviceId> nearest;
  // Hosts of many GPUs can have a CPU beside each, which none is nearer than.
  for (const LinkId link : topology.links_from(gpu)) {
    const DeviceId beside = topology.link(link).to;
    const bool is_before = !nearest || beside < *nearest;
    if (topology.device(beside).kind == DeviceKind::cpu && is_before &&
        router.route(gpu, beside).links.size() == 1) {
      nearest = beside;
    }
  }
  if (nearest) return nearest;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  const NodePart node = topology.node(static_cast<std::uint32_t>(topology.node_of(gpu)));
  const auto& devices = node.graph->graph().devices;
  for (DeviceId number = 0; number < devices.size(); ++number) {
    if (devices[number].kind != DeviceKind::cpu) continue;
    const DeviceId id = node.first_device + number;
    const std::size_t links = router.route(gpu, id).links.size();
    if (links >= fewest) continue;
    fewest = links;
    nearest = id;
  }
  return nearest;
}

void append(std::vector<LinkId>& links, const Route& route) {
  links.insert(links.end(), route.links.begin(), route.links.end());
}

std::vector<LinkId> links_through_host(const Topology& topology, Router& router, DeviceId from,
                                       DeviceId to) {
  const auto cpu = nearest_cpu(topology, router, to);
  if (!cpu) return router.route(from, to).links;
  std::vector<LinkId> links = router.route(from, *cpu).links;
  append(links, router.route(*cpu, to));
  return links;
}

/// Nothing where the NICs are not joined.
std::optional<std::vector<LinkId>> links_by_nics(Router& router, DeviceId from, const HopNics& nics,
                                                 DeviceId to, std::uint32_t channel) {
  try {
    std::vector<LinkId> links;
    if (nics.relay) append(links, router.route(from, *nics.relay, channel));
    append(links, router.route(nics.relay.value_or(from), nics.out, channel));
    append(links, router.route(nics.out, nics.in, channel));
    append(links, router.route(nics.in, to, channel));
    return links;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// By the NICs that the rules name, else by those that the Router finds.
std::vector<LinkId> direct_links(Router& router, std::span<const DeviceId> gpus,
                                 const HopRules& rules, std::uint32_t channel, Rank from, Rank to) {
  if (rules.nics) {
    if (const auto nics = rules.nics(channel, from, to)) {
      auto links = links_by_nics(router, gpus[from], *nics, gpus[to], channel);
      if (links) return *links;
    }
  }
  return router.route(gpus[from], gpus[to], channel).links;
}

/// Leads the part of a way that lies before its first NIC over the sender's CPU.
std::vector<LinkId> by_host_to_nic(const Topology& topology, Router& router,
                                   const std::vector<LinkId>& way, DeviceId gpu) {
  const auto arrives = std::find_if(way.begin(), way.end(), [&](LinkId link) {
    return topology.device(topology.link(link).to).kind == DeviceKind::nic;
  });
  const auto cpu = nearest_cpu(topology, router, gpu);
  if (arrives == way.end() || !cpu) return way;
  std::vector<LinkId> links = router.route(gpu, *cpu).links;
  append(links, router.route(*cpu, topology.link(*arrives).to));
  links.insert(links.end(), arrives + 1, way.end());
  return links;
}

/// And the part that lies behind its last NIC over the receiver's.
std::vector<LinkId> by_host_from_nic(const Topology& topology, Router& router,
                                     const std::vector<LinkId>& way, DeviceId gpu) {
  const auto leaves = std::find_if(way.rbegin(), way.rend(), [&](LinkId link) {
    return topology.device(topology.link(link).from).kind == DeviceKind::nic;
  });
  const auto cpu = nearest_cpu(topology, router, gpu);
  if (leaves == way.rend() || !cpu) return way;
  std::vector<LinkId> links(way.begin(), std::prev(leaves.base()));
  append(links, router.route(topology.link(*leaves).from, *cpu));
  append(links, router.route(*cpu, gpu));
  return links;
}

}  // namespace

std::vector<LinkId> links_of_hop(const Topology& topology, Router& router,
                                 std::span<const DeviceId> gpus, const HopRules& rules,
                                 std::uint32_t channel, Rank from, Rank to) {
  if (rules.through_host_memory && rules.through_host_memory(from, to)) {
    return links_through_host(topology, router, gpus[from], gpus[to]);
  }
  std::vector<LinkId> way = direct_links(router, gpus, rules, channel, from, to);
  if (!rules.network_through_host) return way;
  if (rules.network_through_host(from)) way = by_host_to_nic(topology, router, way, gpus[from]);
  if (rules.network_through_host(to)) way = by_host_from_nic(topology, router, way, gpus[to]);
  return way;
}

namespace {

/// The links of every connection of one channel, in order.
using Ways = std::vector<std::vector<LinkId>>;

/// Finds the ways of one channel's connections; a switch agent is where SwitchPlacement puts it.
class WayFinder {
 public:
  WayFinder(const Topology& topology, std::span<const DeviceId> gpus, const HopRules& rules)
      : topology_(topology),
        gpus_(gpus),
        rules_(rules),
        router_(topology),
        switches_(topology, gpus) {}

  Ways find(const Plan& plan, std::uint32_t channel) {
    const Schedule& schedule = plan.schedule(channel);
    const std::vector<DeviceId> sites = switches_.of(plan, channel);
    const auto device_of = [&](Rank participant) {
      return schedule.is_agent(participant) ? sites[participant - schedule.ranks()]
                                            : gpus_[participant];
    };
    Ways ways;
    for (const auto& [src, dst, lane] : schedule.connections()) {
      if (schedule.is_agent(dst)) {
        ways.push_back(reversed(router_.route(device_of(dst), device_of(src), channel).links));
      } else if (schedule.is_agent(src)) {
        ways.push_back(router_.route(device_of(src), device_of(dst), channel).links);
      } else {
        ways.push_back(links_of_hop(topology_, router_, gpus_, rules_, channel, src, dst));
      }
    }
    return ways;
  }

 private:
  /// Sums go back on the way that copies come.
  std::vector<LinkId> reversed(const std::vector<LinkId>& way) const {
    std::vector<LinkId> back;
    for (auto link = way.rbegin(); link != way.rend(); ++link) {
      back.push_back(topology_.link(*link).reverse);
    }
    return back;
  }

  const Topology& topology_;
  std::span<const DeviceId> gpus_;
  const HopRules& rules_;
  Router router_;
  SwitchPlacement switches_;
};

/// The connections of an agent that are used together with others: their messages are one sum, or
/// copies of one.
std::set<ConnectionId> joint_connections(const Schedule& schedule, Rank agent,
                                         PeerGroupId (*group_of)(const Primitive& primitive)) {
  std::set<ConnectionId> joint;
  for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
    for (const Run& run : schedule.program(agent, lane).runs()) {
      const auto group = schedule.peers(group_of(run.first));
      if (group.size() > 1) joint.insert(group.begin(), group.end());
    }
  }
  return joint;
}

PeerGroupId receive_group(const Primitive& primitive) {
  return primitive.receive_group;
}
PeerGroupId send_group(const Primitive& primitive) {
  return primitive.send_group;
}

/// The switches on the way to the network's agent add up as well, and those on the way from it
/// copy: a link that several ways share carries one message for all, and is the first one's.
void merge_at_switches(const Schedule& schedule, Ways& ways) {
  for (Rank agent = schedule.ranks(); agent < schedule.participants(); ++agent) {
    if (schedule.agents()[agent - schedule.ranks()] != SwitchReducer::network) continue;
    for (const auto group_of : {receive_group, send_group}) {
      std::set<LinkId> used;
      for (const ConnectionId id : joint_connections(schedule, agent, group_of)) {
        std::erase_if(ways[id], [&](LinkId link) { return !used.insert(link).second; });
      }
    }
  }
}

}  // namespace

Wiring wire(const Plan& plan, const Topology& topology, std::span<const DeviceId> gpus,
            const Calibration& cost, const HopRules& rules) {
  WayFinder finder(topology, gpus, rules);
  Wiring wiring;
  ResourceTable table(topology, wiring);
  wiring.wires.resize(plan.channels());
  for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
    const Schedule& schedule = plan.schedule(channel);
    Ways ways = finder.find(plan, channel);
    std::vector<Wire>& wires = wiring.wires[channel];
    wires.reserve(ways.size());
    for (const auto& way : ways) wires.push_back(wire_along(topology, way));
    merge_at_switches(schedule, ways);
    for (std::size_t i = 0; i < ways.size(); ++i) {
      const bool has_proxy = cost.proxy.used && !schedule.is_agent(schedule.connections()[i].src);
      table.load(wires[i], ways[i], has_proxy);
      ways[i] = {};  // there may be millions
    }
  }
  if (cost.memory.used) load_host_memory(wiring, plan, topology, gpus, rules);
  set_efficiency(wiring, cost);
  return wiring;
}

void set_efficiency(Wiring& wiring, const Calibration& cost) {
  wiring.capacities.resize(wiring.nominal.size());
  for (std::size_t i = 0; i < wiring.nominal.size(); ++i) {
    const auto kind = wiring.kinds[i];
    const double share = kind ? cost.efficiency[static_cast<std::size_t>(*kind)] : 1;
    wiring.capacities[i] = share * wiring.nominal[i];
  }
}

}  // namespace collsim
