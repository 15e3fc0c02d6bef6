#include "models/nccl/system/net_merge.h"

#include <algorithm>
#include <vector>

namespace collsim {

namespace {

using Nets = std::vector<std::uint32_t>;

/// The node of a net's card.
std::uint32_t card_of(const NcclSystem& system, std::uint32_t net) {
  return system.links()[system.node(net).links.front()].to;
}

/// Nets of one card and chip, in order, at most so many together.
std::vector<Nets> ports_of_cards(const NcclSystem& system, std::size_t most) {
  std::vector<Nets> cards;
  for (const std::uint32_t net : system.of_kind(NcclNodeKind::net)) {
    const auto same = std::find_if(cards.begin(), cards.end(), [&](const Nets& card) {
      return card.size() < most && card_of(system, card.front()) == card_of(system, net) &&
             system.node(card.front()).net.asic == system.node(net).net.asic;
    });
    if (same == cards.end()) {
      cards.push_back({net});
    } else {
      same->push_back(net);
    }
  }
  return cards;
}

}  // namespace

NcclSystem with_merged_ports(NcclSystem system, const NcclEnvironment& environment,
                             NcclVersion version) {
  if (version < NcclVersion{2, 20} || !environment.merges_ports || environment.over_sockets()) {
    return system;
  }
  const bool by_topology = version >= NcclVersion{2, 24};
  const auto cards = ports_of_cards(system, by_topology ? 4 : 2);
  const std::size_t ports = system.of_kind(NcclNodeKind::net).size();
  if (cards.size() == ports) return system;
  int next = by_topology ? static_cast<int>(ports) : 0;
  for (const Nets& card : cards) {
    const bool keeps_number = by_topology && card.size() == 1;
    system.merge_nets(card, keeps_number ? system.node(card.front()).net.device : next++);
  }
  return system;
}

}  // namespace collsim
