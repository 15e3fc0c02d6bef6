#include "models/resource_load.h"

#include <cstddef>
#include <map>
#include <utility>

namespace collsim {

namespace {

/// Bytes of every chunk of one channel in all loops.
std::vector<double> chunk_bytes(const Schedule& schedule, const Binding& binding,
                                std::uint32_t channel) {
  std::vector<double> bytes(schedule.chunks());
  for (std::uint32_t chunk = 0; chunk < schedule.chunks(); ++chunk) {
    for (std::uint32_t loop = 0; loop < binding.loops(channel); ++loop) {
      const Bytes once = binding.chunk_bytes(channel, loop, {chunk, 1});
      bytes[chunk] += static_cast<double>(once.count);
    }
  }
  return bytes;
}

/// Bytes that every connection of one channel carries in the whole call.
std::vector<double> connection_bytes(const Schedule& schedule, const Binding& binding,
                                     std::uint32_t channel) {
  const std::vector<double> of_chunk = chunk_bytes(schedule, binding, channel);
  std::vector<double> bytes(schedule.connections().size());
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      for (const Primitive& primitive : schedule.program(rank, lane)) {
        if (!sends(primitive.kind)) continue;
        double sent = 0;
        for (std::uint32_t i = 0; i < primitive.chunk_count; ++i) {
          sent += of_chunk[primitive.first_chunk + i];
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
  std::map<std::uint32_t, std::pair<std::uint32_t, std::vector<double>>> known;  // by schedule
  for (std::uint32_t channel = 0; channel < binding.channels(); ++channel) {
    const Schedule& schedule = plan.schedule(channel);
    auto& [other, bytes] = known[plan.schedule_of_channel[channel]];
    if (bytes.empty() || !binding.alike(channel, other)) {
      other = channel;
      bytes = connection_bytes(schedule, binding, channel);
    }
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
