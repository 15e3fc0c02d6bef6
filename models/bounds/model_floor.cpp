#include "models/bounds/model_floor.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/bounds/min_latencies.h"
#include "models/machine/resource_load.h"

namespace collsim {

namespace {

Seconds busiest_link(const ResourceLoad& load, const Wiring& wiring) {
  double busiest = 0;
  for (std::size_t i = 0; i < load.resources.size(); ++i) {
    const double burst =
        i < wiring.bursts.size() ? static_cast<double>(wiring.bursts[i].size.count) : 0;
    busiest = std::max(busiest, (load.resources[i] - burst) / wiring.capacities[i].value);
  }
  return {busiest};
}

Seconds busiest_block(const ResourceLoad& load) {
  Seconds busiest;
  for (const std::vector<ThreadBlockLoad>& of_channel : load.thread_blocks) {
    for (const ThreadBlockLoad& block : of_channel) busiest = std::max(busiest, block.busy);
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
  std::vector<double> times =
      min_latencies(edges.size(), origin, [&](std::size_t from, const auto& visit) {
        for (const Edge& edge : edges[from]) visit(edge.to, edge.latency);
      });
  times.resize(ranks);
  return times;
}

std::vector<std::vector<Edge>> hops(const Plan& plan, const Wiring& wiring,
                                    const ProtocolConstants& cost, std::uint32_t channel,
                                    bool backwards) {
  const Schedule& schedule = plan.schedule(channel);
  const auto connections = schedule.connections();
  std::vector<std::vector<Edge>> edges(schedule.participants());
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const Wire& wire = wiring.wires[channel][i];
    const Seconds alpha = hop_alpha(schedule, connections[i], wire.kind, cost, false);
    const Rank from = backwards ? connections[i].dst : connections[i].src;
    const Rank to = backwards ? connections[i].src : connections[i].dst;
    // Where lines are flagged, the serial cost is not before the peer sees them.
    const bool counts = !schedule.is_agent(connections[i].src) && !cost.flags_lines();
    const Seconds serial = counts ? cost.step_of(false) : Seconds{};
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
double latency_floor(const Plan& plan, const DataPartition& partition, const Wiring& wiring,
                     const ProtocolConstants& cost) {
  std::uint32_t channel = 0;
  while (channel < partition.channels() && partition.loops(channel) == 0) ++channel;
  // Channels of a point-to-point plan each join some pairs only, and send_recv only neighbours.
  if (channel == partition.channels() || plan.channels_divide_chunks) return 0;
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

Seconds ModelFloor::busiest_resource() const {
  return std::max(busiest_link, busiest_block);
}

Seconds ModelFloor::largest() const {
  return std::max(busiest_resource(), latency);
}

ModelFloor model_floor(const Plan& plan, const DataPartition& partition, const Wiring& wiring,
                       const Calibration& cost, Protocol protocol) {
  const ProtocolConstants of_protocol = cost.fastest(protocol);
  const ResourceLoad load = resource_load(plan, partition, wiring, of_protocol);
  const Seconds launch = cost.startup(protocol, plan.collective, 1, 0);
  return {launch + busiest_link(load, wiring), launch + busiest_block(load),
          launch + Seconds{latency_floor(plan, partition, wiring, of_protocol)}};
}

Seconds surely_needed(const ModelFloor& floor, double jitter) {
  return std::max({floor.busiest_link, (1 - 2 * jitter) * floor.busiest_block, floor.latency});
}

}  // namespace collsim
