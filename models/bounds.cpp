#include "models/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

namespace collsim {

namespace {

/// Capacity that leaves and that enters something.
struct Port {
  double out = 0;
  double in = 0;

  double smaller() const { return std::min(out, in); }
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
    const auto from = topology.device(link.from).node;
    const auto to = topology.device(link.to).node;
    if (from == to) continue;
    if (from >= 0) ports.nodes[static_cast<std::size_t>(from)].out += rate;
    if (to >= 0) ports.nodes[static_cast<std::size_t>(to)].in += rate;
  }
  return ports;
}

/// An all-reduce moves its whole size out of and into every set of ranks that is not all of them:
/// what the others lack of the set's sum, and what the set lacks of theirs. Tried are single GPUs
/// and whole nodes.
double cut_bound(const Topology& topology, std::span<const DeviceId> gpus, const TransferCost& cost,
                 double bytes) {
  if (gpus.size() < 2) return 0;
  const Ports ports = count_ports(topology, cost);
  const auto node_of = [&](DeviceId gpu) {
    return static_cast<std::size_t>(topology.device(gpu).node);
  };
  const bool several_nodes = std::any_of(gpus.begin(), gpus.end(), [&](DeviceId gpu) {
    return node_of(gpu) != node_of(gpus.front());
  });
  double narrowest = std::numeric_limits<double>::infinity();
  for (const DeviceId gpu : gpus) {
    narrowest = std::min(narrowest, ports.devices[gpu].smaller());
    if (several_nodes) narrowest = std::min(narrowest, ports.nodes[node_of(gpu)].smaller());
  }
  return bytes / narrowest;
}

/// Bytes that every connection of one channel carries in the whole call.
std::vector<double> connection_bytes(const Schedule& schedule, const Binding& binding,
                                     std::uint32_t channel) {
  std::vector<double> bytes(schedule.connections().size());
  for (Rank rank = 0; rank < schedule.ranks(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      for (const Primitive& primitive : schedule.program(rank, lane)) {
        if (!sends(primitive.kind)) continue;
        double sent = 0;
        for (std::uint32_t loop = 0; loop < binding.loops(channel); ++loop) {
          sent += static_cast<double>(binding.chunk_bytes(channel, loop, primitive.chunks()).count);
        }
        for (const ConnectionId peer : schedule.peers(primitive.send_group)) bytes[peer] += sent;
      }
    }
  }
  return bytes;
}

double busiest_resource_bound(const Plan& plan, const Binding& binding, const Wiring& wiring,
                              const ProtocolCost& cost) {
  std::vector<double> load(wiring.capacities.size());
  double busiest = 0;
  for (std::uint32_t channel = 0; channel < binding.channels(); ++channel) {
    const Schedule& schedule = plan.schedule(channel);
    const std::vector<double> bytes = connection_bytes(schedule, binding, channel);
    std::vector<double> thread_block(schedule.ranks());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const double on_wire = cost.wire_factor * bytes[i];
      thread_block[schedule.connections()[i].src] += on_wire;
      const Wire& wire = wiring.wires[channel][i];
      for (const ResourceId resource : wire.resources) load[resource] += on_wire;
      for (const ResourceId resource : wire.network) load[resource] += on_wire;
    }
    for (const double sent : thread_block) busiest = std::max(busiest, sent / cost.channel.value);
  }
  for (std::size_t i = 0; i < load.size(); ++i) {
    busiest = std::max(busiest, load[i] / wiring.capacities[i].value);
  }
  return busiest;
}

/// A connection seen from its sender: who hears, and how long after at the least.
struct Edge {
  Rank to;
  double latency;
};

/// The least time in which something that `origin` knows reaches each rank.
std::vector<double> reach(const std::vector<std::vector<Edge>>& edges, Rank origin) {
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
  return time;
}

/// What every rank contributes must reach every other over the plan's connections. Two sweeps find
/// a far pair (in a tree the farthest): the rank farthest from rank 0, and the one farthest from
/// it.
double latency_bound(const Plan& plan, const Binding& binding, const Wiring& wiring,
                     const ProtocolCost& cost) {
  if (binding.channels() == 0 || binding.loops(0) == 0) return 0;
  const auto connections = plan.schedule(0).connections();
  std::vector<std::vector<Edge>> edges(plan.ranks());
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const Wire& wire = wiring.wires[0][i];
    const double alpha = cost.alpha[static_cast<std::size_t>(wire.kind)].value;
    edges[connections[i].src].push_back(
        {connections[i].dst, wire.latency.value + alpha + cost.slice.value});
  }
  const std::vector<double> from_first = reach(edges, 0);
  const auto farthest = std::max_element(from_first.begin(), from_first.end());
  const std::vector<double> times = reach(edges, static_cast<Rank>(farthest - from_first.begin()));
  return *std::max_element(times.begin(), times.end());
}

}  // namespace

Seconds Bounds::largest() const {
  return std::max({cut, busiest_resource, latency});
}

Bounds lower_bounds(const Plan& plan, const Binding& binding, const Wiring& wiring,
                    const Topology& topology, std::span<const DeviceId> gpus,
                    const TransferCost& cost, Protocol protocol) {
  const ProtocolCost& of_protocol = cost.of(protocol);
  const auto size = static_cast<double>(binding.size().count);
  Bounds bounds;
  bounds.cut.value = cut_bound(topology, gpus, cost, of_protocol.wire_factor * size);
  bounds.busiest_resource.value = busiest_resource_bound(plan, binding, wiring, of_protocol);
  bounds.latency.value = latency_bound(plan, binding, wiring, of_protocol);
  for (Seconds* bound : {&bounds.cut, &bounds.busiest_resource, &bounds.latency}) {
    *bound += cost.launch + of_protocol.setup;
  }
  return bounds;
}

void check_bounds(Seconds time, const Bounds& bounds, std::string_view what) {
  constexpr double rounding =
      1e-9;  // of a sum over millions of events; a wrong model is off by more
  if (time.value >= bounds.largest().value * (1 - rounding)) return;
  throw std::logic_error(fmt::format("{} came out as {:.6g} us, below its lower bound of {:.6g} us",
                                     what, in_microseconds(time),
                                     in_microseconds(bounds.largest())));
}

}  // namespace collsim
