#include "models/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/resource_load.h"

namespace collsim {

namespace {

/// Capacity that leaves and that enters something, or what must cross it.
struct Port {
  double out = 0;
  double in = 0;
  double bursts = 0;  ///< that the links of a capacity pass at once
};

struct Ports {
  std::vector<Port> devices;
  std::vector<Port> nodes;
};

Ports count_ports(const Topology& topology, const TransferCost& cost) {
  Ports ports{std::vector<Port>(topology.devices().size()),
              std::vector<Port>(topology.node_count())};
  for (const Link& link : topology.links()) {
    const double rate = cost.efficiency[static_cast<std::size_t>(link.kind)] * link.bandwidth.value;
    ports.devices[link.from].out += rate;
    ports.devices[link.to].in += rate;
    const auto burst = static_cast<double>(link.burst.size.count);
    ports.devices[link.from].bursts += burst;
    ports.devices[link.to].bursts += burst;
    const auto from = topology.device(link.from).node;
    const auto to = topology.device(link.to).node;
    if (from == to) continue;
    for (const auto node : {from, to}) {
      if (node >= 0) ports.nodes[static_cast<std::size_t>(node)].bursts += burst;
    }
    if (from >= 0) ports.nodes[static_cast<std::size_t>(from)].out += rate;
    if (to >= 0) ports.nodes[static_cast<std::size_t>(to)].in += rate;
  }
  return ports;
}

/// Bytes that must leave and enter a set of `inside` of the `ranks` ranks, whatever the algorithm:
/// what the others need to know of the set's data (a sum counts once), and what the set needs of
/// theirs.
Port cut_load(Collective collective, double ranks, double inside, bool has_root, double bytes) {
  const double own = bytes * inside / ranks;
  const double others = bytes - own;
  switch (collective) {
    case Collective::all_reduce:
      return {bytes, bytes};
    case Collective::all_gather:
      return {own, others};
    case Collective::reduce_scatter:
      return {others, own};
    case Collective::broadcast:
      return has_root ? Port{bytes, 0} : Port{0, bytes};
    case Collective::reduce:
      return has_root ? Port{0, bytes} : Port{bytes, 0};
    case Collective::scatter:
      return has_root ? Port{others, 0} : Port{0, own};
    case Collective::gather:
      return has_root ? Port{0, others} : Port{own, 0};
    case Collective::all_to_all:
      return {inside * others, inside * others};
    case Collective::send_recv:  // who of the set sends to whom is open
      return inside == 1 ? Port{bytes, bytes} : Port{};
    case Collective::barrier:
      break;
  }
  return {};
}

double crossing_time(const Port& load, const Port& capacity) {
  const double out = load.out > 0 ? (load.out - capacity.bursts) / capacity.out : 0;
  const double in = load.in > 0 ? (load.in - capacity.bursts) / capacity.in : 0;
  return std::max({out, in, 0.0});
}

/// The sets of ranks tried are single GPUs and whole nodes.
double cut_bound(const Plan& plan, const Topology& topology, std::span<const DeviceId> gpus,
                 const TransferCost& cost, double bytes) {
  if (gpus.size() < 2) return 0;
  const Ports ports = count_ports(topology, cost);
  const auto node_of = [&](DeviceId gpu) {
    return static_cast<std::size_t>(topology.device(gpu).node);
  };
  const auto ranks = static_cast<double>(gpus.size());
  std::vector<double> ranks_of_node(topology.node_count());
  for (const DeviceId gpu : gpus) ++ranks_of_node[node_of(gpu)];
  const std::size_t root_node = node_of(gpus[plan.root]);
  double bound = 0;
  for (Rank rank = 0; rank < gpus.size(); ++rank) {
    const Port load = cut_load(plan.collective, ranks, 1, rank == plan.root, bytes);
    bound = std::max(bound, crossing_time(load, ports.devices[gpus[rank]]));
    const std::size_t node = node_of(gpus[rank]);
    if (ranks_of_node[node] == ranks) continue;
    const Port node_load =
        cut_load(plan.collective, ranks, ranks_of_node[node], node == root_node, bytes);
    bound = std::max(bound, crossing_time(node_load, ports.nodes[node]));
  }
  return bound;
}

double busiest_resource_bound(const Plan& plan, const Binding& binding, const Wiring& wiring,
                              const ProtocolCost& cost) {
  const ResourceLoad load = resource_load(plan, binding, wiring, cost);
  double busiest = 0;
  for (const std::vector<ThreadBlockLoad>& of_channel : load.thread_blocks) {
    for (const ThreadBlockLoad& block : of_channel) busiest = std::max(busiest, block.busy.value);
  }
  for (std::size_t i = 0; i < load.resources.size(); ++i) {
    const double burst =
        i < wiring.bursts.size() ? static_cast<double>(wiring.bursts[i].size.count) : 0;
    busiest = std::max(busiest, (load.resources[i] - burst) / wiring.capacities[i].value);
  }
  return busiest;
}

/// A connection seen from its sender: who hears, and how long after at the least.
struct Edge {
  Rank to;
  double latency;
};

/// The least time in which something that `origin` knows reaches each of the `ranks` first
/// participants.
std::vector<double> reach(const std::vector<std::vector<Edge>>& edges, Rank origin, Rank ranks) {
  std::vector<double> time(edges.size(), std::numeric_limits<double>::infinity());
  using Entry = std::pair<double, Rank>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  time[origin] = 0;
  queue.emplace(0, origin);
  while (!queue.empty()) {
    const auto [at, rank] = queue.top();
    queue.pop();
    if (at > time[rank]) continue;
    for (const Edge& edge : edges[rank]) {
      if (at + edge.latency >= time[edge.to]) continue;
      time[edge.to] = at + edge.latency;
      queue.emplace(time[edge.to], edge.to);
    }
  }
  time.resize(ranks);
  return time;
}

std::vector<std::vector<Edge>> hops(const Plan& plan, const Wiring& wiring,
                                    const ProtocolCost& cost, std::uint32_t channel,
                                    bool backwards) {
  const Schedule& schedule = plan.schedule(channel);
  const auto connections = schedule.connections();
  std::vector<std::vector<Edge>> edges(schedule.participants());
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const Wire& wire = wiring.wires[channel][i];
    const Seconds alpha = hop_alpha(schedule, connections[i], wire.kind, cost);
    const Rank from = backwards ? connections[i].dst : connections[i].src;
    const Rank to = backwards ? connections[i].src : connections[i].dst;
    // Where lines are flagged, the serial cost is not before the peer sees them.
    const bool counts = !schedule.is_agent(connections[i].src) && !cost.flags_lines();
    const Seconds serial = counts ? cost.slice : Seconds{};
    edges[from].push_back({to, (wire.latency + alpha + serial).value});
  }
  return edges;
}

/// The rank that `times` says is farthest, of those that are reached at all.
Rank farthest_rank(const std::vector<double>& times) {
  Rank farthest = 0;
  double most = -1;
  for (Rank rank = 0; rank < times.size(); ++rank) {
    if (std::isinf(times[rank]) || times[rank] <= most) continue;
    most = times[rank];
    farthest = rank;
  }
  return farthest;
}

/// Hop by hop: a root's data must reach everybody, or everybody's the root; without a root, what
/// every rank contributes must reach every other, of which two sweeps find a far pair (in a tree
/// the farthest): the rank farthest from rank 0, and the one farthest from it.
double latency_bound(const Plan& plan, const Binding& binding, const Wiring& wiring,
                     const ProtocolCost& cost) {
  std::uint32_t channel = 0;
  while (channel < binding.channels() && binding.loops(channel) == 0) ++channel;
  // Channels of a point-to-point plan each join some pairs only, and send_recv only neighbours.
  if (channel == binding.channels() || plan.channels_divide_chunks) return 0;
  if (plan.collective == Collective::send_recv) return 0;
  const bool to_root =
      plan.collective == Collective::reduce || plan.collective == Collective::gather;
  const auto edges = hops(plan, wiring, cost, channel, to_root);
  Rank origin = plan.root;
  if (!has_root(plan.collective)) origin = farthest_rank(reach(edges, 0, plan.ranks()));
  const std::vector<double> times = reach(edges, origin, plan.ranks());
  return times[farthest_rank(times)];
}

}  // namespace

Seconds Bounds::largest() const {
  return std::max({cut, busiest_resource, latency});
}

Bounds lower_bounds(const Plan& plan, const Binding& binding, const Wiring& wiring,
                    const Topology& topology, std::span<const DeviceId> gpus,
                    const TransferCost& cost, Protocol protocol) {
  const ProtocolCost of_protocol = cost.fastest(protocol);
  const auto size = static_cast<double>(binding.size().count);
  Bounds bounds;
  const double factor = cost.proxy.used
                            ? std::min(of_protocol.wire_factor, of_protocol.proxy_factor)
                            : of_protocol.wire_factor;
  bounds.cut.value = cut_bound(plan, topology, gpus, cost, factor * size);
  bounds.busiest_resource.value = busiest_resource_bound(plan, binding, wiring, of_protocol);
  bounds.latency.value = latency_bound(plan, binding, wiring, of_protocol);
  for (Seconds* bound : {&bounds.cut, &bounds.busiest_resource, &bounds.latency}) {
    *bound += cost.startup(protocol, plan.collective, 1, 0);
  }
  return bounds;
}

void check_bounds(Seconds time, const Bounds& bounds, const Unevenness& unevenness,
                  std::string_view what) {
  constexpr double rounding =
      1e-9;  // of a sum over millions of events; a wrong model is off by more
  if (time.value >= bounds.largest().value * (1 - unevenness.most() - rounding)) return;
  throw std::logic_error(fmt::format("{} came out as {:.6g} us, below its lower bound of {:.6g} us",
                                     what, in_microseconds(time),
                                     in_microseconds(bounds.largest())));
}

}  // namespace collsim
