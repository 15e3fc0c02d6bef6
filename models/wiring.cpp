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
  explicit ResourceTable(const Topology& topology)
      : topology_(topology),
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
      nominal.push_back(link.bandwidth);
      kinds.emplace_back(link.kind);
      origins.push_back({false, id});
    }
    route.push_back(of_link_[id]);
    for (const SharedResourceId shared : shared_by_link_[id]) {
      if (of_shared_[shared] == unused) {
        of_shared_[shared] = next();
        nominal.push_back(topology_.shared_resources()[shared].bandwidth);
        kinds.emplace_back(std::nullopt);
        origins.push_back({true, shared});
      }
      const ResourceId resource = of_shared_[shared];
      if (std::find(route.begin(), route.end(), resource) == route.end()) {
        route.push_back(resource);
      }
    }
  }

  std::vector<BytesPerSecond> nominal;
  std::vector<std::optional<LinkKind>> kinds;
  std::vector<ResourceOrigin> origins;

 private:
  ResourceId next() const { return static_cast<ResourceId>(nominal.size()); }

  const Topology& topology_;
  std::vector<ResourceId> of_link_;
  std::vector<ResourceId> of_shared_;
  std::vector<std::vector<SharedResourceId>> shared_by_link_;
};

/// The CPU to which a GPU has the fewest links; nothing where its node has none.
std::optional<DeviceId> nearest_cpu(const Topology& topology, Router& router, DeviceId gpu) {
  std::optional<DeviceId> nearest;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (DeviceId id = 0; id < topology.devices().size(); ++id) {
    const Device& device = topology.device(id);
    if (device.kind != DeviceKind::cpu || device.node != topology.device(gpu).node) continue;
    const std::size_t links = router.route(gpu, id).links.size();
    if (links >= fewest) continue;
    fewest = links;
    nearest = id;
  }
  return nearest;
}

/// NCCL's buffer in host memory lies on the receiver's side (NCCL_SHM_LOCALITY's default).
Route route_through_host(const Topology& topology, Router& router, DeviceId from, DeviceId to) {
  const auto cpu = nearest_cpu(topology, router, to);
  if (!cpu) return router.route(from, to);
  Route route = router.route(from, *cpu);
  const Route rest = router.route(*cpu, to);
  route.links.insert(route.links.end(), rest.links.begin(), rest.links.end());
  route.latency += rest.latency;
  return route;
}

}  // namespace

Wiring wire(const Plan& plan, const Topology& topology, std::span<const DeviceId> gpus,
            const TransferCost& cost, const ThroughHostMemory& through_host_memory) {
  Router router(topology);
  ResourceTable table(topology);
  Wiring wiring;
  wiring.wires.resize(plan.channels());
  for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
    for (const Connection& connection : plan.schedule(channel).connections()) {
      const DeviceId from = gpus[connection.src];
      const DeviceId to = gpus[connection.dst];
      const bool staged =
          through_host_memory && through_host_memory(connection.src, connection.dst);
      const Route route =
          staged ? route_through_host(topology, router, from, to) : router.route(from, to, channel);
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
  wiring.nominal = std::move(table.nominal);
  wiring.kinds = std::move(table.kinds);
  wiring.origins = std::move(table.origins);
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
