#include "models/wiring.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "sim/topologies/routing.h"

namespace collsim {

namespace {

constexpr ResourceId unused = std::numeric_limits<ResourceId>::max();

/// Numbers links and shared resources as they come into use.
class ResourceTable {
 public:
  ResourceTable(const Topology& topology, const TransferCost& cost)
      : topology_(topology),
        cost_(cost),
        of_link_(topology.links().size(), unused),
        of_shared_(topology.shared_resources().size(), unused),
        shared_by_link_(topology.links().size()) {
    for (SharedResourceId id = 0; id < topology.shared_resources().size(); ++id) {
      for (const LinkId link : topology.shared_resources()[id].links) {
        shared_by_link_[link].push_back(id);
      }
    }
  }

  void add_link(LinkId id, std::vector<ResourceId>& route) {
    const Link& link = topology_.link(id);
    if (of_link_[id] == unused) {
      of_link_[id] = next();
      capacities.push_back(cost_.efficiency[static_cast<std::size_t>(link.kind)] * link.bandwidth);
      origins.push_back({false, id});
    }
    route.push_back(of_link_[id]);
    for (const SharedResourceId shared : shared_by_link_[id]) {
      if (of_shared_[shared] == unused) {
        of_shared_[shared] = next();
        capacities.push_back(topology_.shared_resources()[shared].bandwidth);
        origins.push_back({true, shared});
      }
      const ResourceId resource = of_shared_[shared];
      if (std::find(route.begin(), route.end(), resource) == route.end()) {
        route.push_back(resource);
      }
    }
  }

  std::vector<BytesPerSecond> capacities;
  std::vector<ResourceOrigin> origins;

 private:
  ResourceId next() const { return static_cast<ResourceId>(capacities.size()); }

  const Topology& topology_;
  const TransferCost& cost_;
  std::vector<ResourceId> of_link_;
  std::vector<ResourceId> of_shared_;
  std::vector<std::vector<SharedResourceId>> shared_by_link_;
};

}  // namespace

Wiring wire(const Plan& plan, const Topology& topology, std::span<const DeviceId> gpus,
            const TransferCost& cost) {
  Router router(topology);
  ResourceTable table(topology, cost);
  Wiring wiring;
  wiring.wires.resize(plan.channels());
  for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
    for (const Connection& connection : plan.schedule(channel).connections()) {
      const Route route = router.route(gpus[connection.src], gpus[connection.dst], channel);
      Wire& wire = wiring.wires[channel].emplace_back();
      wire.latency = route.latency;
      bool on_network = false;
      for (const LinkId link : route.links) {
        const LinkKind kind = topology.link(link).kind;
        wire.kind = std::max(wire.kind, kind);
        on_network = on_network || (cost.proxy.used && kind == LinkKind::network);
        table.add_link(link, on_network ? wire.network : wire.resources);
      }
    }
  }
  wiring.capacities = std::move(table.capacities);
  wiring.origins = std::move(table.origins);
  return wiring;
}

}  // namespace collsim
