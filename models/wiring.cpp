#include "models/wiring.h"

#include "models/resource_table.h"
#include "sim/topologies/routing.h"

namespace collsim {

Wiring wire(const Plan& plan, const Topology& topology, std::span<const DeviceId> gpus,
            const TransferCost& cost) {
  Router router(topology);
  Wiring wiring;
  ResourceTable table(topology, wiring);
  wiring.wires.resize(plan.channels());
  for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
    for (const Connection& connection : plan.schedule(channel).connections()) {
      const Route route = router.route(gpus[connection.src], gpus[connection.dst], channel);
      wiring.wires[channel].push_back(table.lay(route, cost));
    }
  }
  set_efficiency(wiring, cost);
  return wiring;
}

void set_efficiency(Wiring& wiring, const TransferCost& cost) {
  wiring.capacities.resize(wiring.nominal.size());
  for (std::size_t i = 0; i < wiring.nominal.size(); ++i) {
    const auto kind = wiring.kinds[i];
    const double share = kind ? cost.efficiency[static_cast<std::size_t>(*kind)] : 1;
    wiring.capacities[i] = share * wiring.nominal[i];
  }
}

}  // namespace collsim
