#include "models/machine/hop_wires.h"

#include <algorithm>
#include <utility>

#include "sim/base/input_error.h"

namespace collsim {

HopWires::HopWires(const Topology& topology, std::span<const DeviceId> gpus,
                   const Calibration& cost, HopRules rules, LinkStates states,
                   KnownWays::OfAlgorithm* known)
    : topology_(topology),
      gpus_(gpus),
      cost_(cost),
      rules_(std::move(rules)),
      router_(topology),
      table_(topology, wiring_),
      states_(std::move(states)),
      known_(topology.takes_detours() ? nullptr : known) {}

Wire HopWires::lay(std::uint32_t channel, Rank from, Rank to) {
  Way way = healthy_way(channel, from, to);
  if (is_cut(way)) way = around(std::move(way), channel, from, to);
  return laid(way, cost_.proxy.used);
}

HopWires::Way HopWires::healthy_way(std::uint32_t channel, Rank from, Rank to) {
  const auto search = [&] {
    return links_of_hop(topology_, router_, gpus_, rules_, channel, from, to);
  };
  if (known_ == nullptr) return search();
  const KnownWays::Hop hop{channel, from, to};
  const auto found = known_->find(hop);
  return found != known_->end() ? found->second : known_->emplace(hop, search()).first->second;
}

bool HopWires::is_cut(const Way& way) const {
  return std::any_of(way.begin(), way.end(), [this](LinkId link) {
    const auto state = states_.find(link);
    return state != states_.end() && state->second.avoided;
  });
}

/// Where no way is left, it stands still where it always went.
HopWires::Way HopWires::around(Way way, std::uint32_t channel, Rank from, Rank to) {
  if (!reduced_) {
    std::vector<bool> dead(topology_.links().size());
    for (const auto& [link, state] : states_) dead[link] = state.avoided;
    reduced_ = without_links(topology_, dead);
    detours_.emplace(reduced_->topology);
  }
  try {
    Way detour = links_of_hop(reduced_->topology, *detours_, gpus_, rules_, channel, from, to);
    for (LinkId& link : detour) link = reduced_->original[link];
    return detour;
  } catch (const InputError&) {
    return way;
  }
}

Wire HopWires::lay_from_switch(std::uint32_t channel, DeviceId site, Rank to) {
  return laid(router_.route(site, gpus_[to], channel).links, false);
}

Wire HopWires::lay_to_switch(std::uint32_t channel, Rank from, DeviceId site) {
  const std::vector<LinkId> way = router_.route(site, gpus_[from], channel).links;
  std::vector<LinkId> back;
  for (auto link = way.rbegin(); link != way.rend(); ++link) {
    back.push_back(topology_.link(*link).reverse);
  }
  return laid(back, cost_.proxy.used);
}

Wire HopWires::laid(std::span<const LinkId> way, bool has_proxy) {
  Wire wire = wire_along(topology_, way);
  table_.load(wire, way, has_proxy);
  for (const LinkId link : way) {
    const auto state = states_.find(link);
    if (state != states_.end()) wire.latency += state->second.mean_delay();
  }
  return wire;
}

void HopWires::set_states(LinkStates states) {
  states_ = std::move(states);
  detours_.reset();
  reduced_.reset();
}

const LinkState* HopWires::state_of(ResourceId resource) const {
  const ResourceOrigin& origin = wiring_.origins[resource];
  const auto state = origin.shared ? states_.end() : states_.find(origin.id);
  return state == states_.end() ? nullptr : &state->second;
}

bool HopWires::is_changed(const Wire& wire) const {
  const auto changed = [this](ResourceId resource) { return state_of(resource) != nullptr; };
  return std::any_of(wire.resources.begin(), wire.resources.end(), changed) ||
         std::any_of(wire.network.begin(), wire.network.end(), changed);
}

BytesPerSecond HopWires::capacity(ResourceId resource) const {
  constexpr double next_to_nothing = 1e-18;
  const auto kind = wiring_.kinds[resource];
  double share = kind ? cost_.efficiency[static_cast<std::size_t>(*kind)] : 1;
  if (const LinkState* const state = state_of(resource); state != nullptr) {
    share *= std::max(state->share, next_to_nothing);
  }
  return share * wiring_.nominal[resource];
}

}  // namespace collsim
