#include "models/bounds.h"

#include <algorithm>
#include <bit>
#include <limits>
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
    const double rate =
        cost.efficiency[static_cast<std::size_t>(link.kind)] * link.bandwidth.value;
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
double cut_bound(const Topology& topology, std::span<const DeviceId> gpus,
                 const TransferCost& cost, double bytes) {
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
          sent += static_cast<double>(
              binding.chunk_bytes(channel, loop, primitive.chunks()).count);
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
      for (const ResourceId resource : wiring.wires[channel][i].resources) {
        load[resource] += on_wire;
      }
    }
    for (const double sent : thread_block) busiest = std::max(busiest, sent / cost.channel.value);
  }
  for (std::size_t i = 0; i < load.size(); ++i) {
    busiest = std::max(busiest, load[i] / wiring.capacities[i].value);
  }
  return busiest;
}

double latency_bound(const Plan& plan, const Binding& binding, const Wiring& wiring,
                     const ProtocolCost& cost) {
  double fastest = std::numeric_limits<double>::infinity();
  for (std::uint32_t channel = 0; channel < binding.channels(); ++channel) {
    if (binding.loops(channel) == 0) continue;
    for (const Wire& wire : wiring.wires[channel]) {
      const double alpha = cost.alpha[static_cast<std::size_t>(wire.kind)].value;
      fastest = std::min(fastest, wire.latency.value + alpha + cost.slice.value);
    }
  }
  if (plan.ranks() < 2 || binding.size().count == 0) return 0;
  return std::bit_width(plan.ranks() - 1) * fastest;
}

}  // namespace

Seconds Bounds::largest() const { return std::max({cut, busiest_resource, latency}); }

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
    *bound += cost.launch;
  }
  return bounds;
}

}  // namespace collsim
