#include "models/resource_load.h"

#include <cstddef>
#include <utility>

namespace collsim {

namespace {

/// Bytes that every connection of one channel carries in the whole call.
std::vector<double> connection_bytes(const Schedule& schedule, const Binding& binding,
                                     std::uint32_t channel) {
  std::vector<double> bytes(schedule.connections().size());
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
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

}  // namespace

ResourceLoad resource_load(const Plan& plan, const Binding& binding, const Wiring& wiring,
                           const ProtocolCost& cost) {
  ResourceLoad load;
  load.resources.resize(wiring.capacities.size());
  for (std::uint32_t channel = 0; channel < binding.channels(); ++channel) {
    const Schedule& schedule = plan.schedule(channel);
    const std::vector<double> bytes = connection_bytes(schedule, binding, channel);
    std::vector<double> sent(schedule.participants());
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const double on_wire = cost.wire_factor * bytes[i];
      sent[schedule.connections()[i].src] += on_wire;
      const Wire& wire = wiring.wires[channel][i];
      for (const ResourceId resource : wire.resources) load.resources[resource] += on_wire;
      const double on_network = cost.proxy_factor * bytes[i];
      for (const ResourceId resource : wire.network) load.resources[resource] += on_network;
    }
    sent.resize(schedule.ranks());  // switch agents have no thread blocks
    load.thread_blocks.push_back(std::move(sent));
  }
  return load;
}

}  // namespace collsim
