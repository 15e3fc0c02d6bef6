#include "tests/support/machines.h"

namespace collsim::test {

Wiring switch_wiring(const Plan& plan, BytesPerSecond rate, Seconds alpha) {
  Wiring wiring;
  wiring.capacities.assign(std::size_t{2} * plan.ranks(), rate);
  for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
    auto& wires = wiring.wires.emplace_back();
    for (const Connection& connection : plan.schedule(channel).connections()) {
      Wire& wire = wires.emplace_back();
      wire.latency = alpha;
      wire.kind = LinkKind::network;
      if (connection.src < plan.ranks()) wire.resources.push_back(connection.src);
      if (connection.dst < plan.ranks()) wire.resources.push_back(plan.ranks() + connection.dst);
    }
  }
  return wiring;
}

Wiring private_wiring(const Plan& plan, BytesPerSecond rate, Seconds alpha) {
  Wiring wiring;
  for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
    auto& wires = wiring.wires.emplace_back();
    for (std::size_t i = 0; i < plan.schedule(channel).connections().size(); ++i) {
      const auto link = static_cast<ResourceId>(wiring.capacities.size());
      wiring.capacities.push_back(rate);
      wires.push_back({{link}, alpha, LinkKind::network});
    }
  }
  return wiring;
}

}  // namespace collsim::test
