#include "models/machine/hop_wires.h"

#include <utility>

namespace collsim {

HopWires::HopWires(const Topology& topology, std::span<const DeviceId> gpus,
                   const Calibration& cost, HopRules rules)
    : topology_(topology),
      gpus_(gpus),
      cost_(cost),
      rules_(std::move(rules)),
      router_(topology),
      table_(topology, wiring_) {}

Wire HopWires::lay(std::uint32_t channel, Rank from, Rank to) {
  Wire wire =
      laid(links_of_hop(topology_, router_, gpus_, rules_, channel, from, to), cost_.proxy.used);
  return wire;
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
  return wire;
}

BytesPerSecond HopWires::capacity(ResourceId resource) const {
  const auto kind = wiring_.kinds[resource];
  const double share = kind ? cost_.efficiency[static_cast<std::size_t>(*kind)] : 1;
  return share * wiring_.nominal[resource];
}

const Burst* HopWires::burst(ResourceId resource) const {
  const bool bursts = resource < wiring_.bursts.size() && wiring_.bursts[resource].size.count > 0;
  return bursts ? &wiring_.bursts[resource] : nullptr;
}

}  // namespace collsim
