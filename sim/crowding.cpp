#include "sim/crowding.h"

#include <algorithm>
#include <utility>

namespace collsim {

std::vector<std::uint32_t> count_senders(const Plan& plan, const Binding& binding,
                                         const Wiring& wiring) {
  std::vector<std::uint32_t> senders(wiring.capacities.size());
  std::vector<std::pair<ResourceId, Rank>> of_channel;
  for (std::uint32_t channel = 0; channel < binding.channels(); ++channel) {
    if (binding.loops(channel) == 0) continue;
    of_channel.clear();
    const auto connections = plan.schedule(channel).connections();
    for (std::size_t i = 0; i < connections.size(); ++i) {
      for (const ResourceId resource : wiring.wires[channel][i].resources) {
        of_channel.emplace_back(resource, connections[i].src);
      }
    }
    std::sort(of_channel.begin(), of_channel.end());
    of_channel.erase(std::unique(of_channel.begin(), of_channel.end()), of_channel.end());
    for (const auto& [resource, rank] : of_channel) ++senders[resource];
  }
  return senders;
}

std::vector<double> crowded_shares(const Schedule& schedule, const std::vector<Wire>& wires,
                                   const std::vector<BytesPerSecond>& capacities,
                                   const std::vector<std::uint32_t>& senders,
                                   const std::vector<LinkKind>& kinds,
                                   const ThreadBlockCosts& costs) {
  std::vector<double> shares(schedule.participants(), 1);
  const auto connections = schedule.connections();
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const Rank src = connections[i].src;
    const ProtocolCost& cost = costs[static_cast<std::size_t>(kinds[src])];
    for (const ResourceId resource : wires[i].resources) {
      const double share = cost.crowded_share(senders[resource], capacities[resource]);
      shares[src] = std::min(shares[src], share);
    }
  }
  return shares;
}

}  // namespace collsim
