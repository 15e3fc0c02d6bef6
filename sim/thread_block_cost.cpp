#include "sim/thread_block_cost.h"

#include <algorithm>

#include "sim/warps.h"

namespace collsim {

ThreadBlockCosts thread_block_costs(const TransferCost& cost, Protocol protocol,
                                    std::uint32_t warps) {
  ThreadBlockCosts costs;
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    costs[kind] = with_warps(cost.of(protocol, static_cast<LinkKind>(kind)), protocol, warps);
  }
  return costs;
}

ProtocolCost with_warps(ProtocolCost cost, Protocol protocol, std::uint32_t warps) {
  if (warps == 0) return cost;
  const double share = std::min(1.0, static_cast<double>(warps) / full_warps(protocol));
  const double full = cost.share_of_round(share);
  for (Seconds* round : {&cost.reduce_round, &cost.copy_round, &cost.store_round}) {
    *round = full * *round;
  }
  cost.least_round /= full;
  return cost;
}

bool limits_thread_blocks(const TransferCost& cost, Protocol protocol) {
  if (cost.of(protocol).channel < unlimited) return true;
  const auto& over = cost.over[static_cast<std::size_t>(protocol)];
  return std::any_of(over.begin(), over.end(),
                     [](const auto& own) { return own && own->channel < unlimited; });
}

std::vector<LinkKind> slowest_links(const Schedule& schedule, const std::vector<Wire>& wires) {
  std::vector<LinkKind> slowest(schedule.participants(), LinkKind::nvlink);
  const auto connections = schedule.connections();
  for (std::size_t i = 0; i < connections.size(); ++i) {
    for (const Rank rank : {connections[i].src, connections[i].dst}) {
      slowest[rank] = std::max(slowest[rank], wires[i].kind);
    }
  }
  return slowest;
}

}  // namespace collsim
