#include "tools/collsim/plan/limit.h"

#include <algorithm>

#include "models/machine/resource_load.h"

namespace collsim {

namespace {

/// A resource that is busy for less of the time is not what holds a call back.
constexpr double busy = 0.5;
/// Resources in a row are often equally busy, such as a NIC and the PCIe link behind it. They are
/// alike within this share, and the one that comes last in Limit is named.
constexpr double same_use = 1e-3;

Limit limit_of_link(const Topology& topology, LinkId id) {
  const Link link = topology.link(id);
  switch (link.kind) {
    case LinkKind::nvlink:
      return Limit::nvlink;
    case LinkKind::pcie:
      return Limit::pcie;
    case LinkKind::cpu:
      return Limit::cpu_link;
    case LinkKind::network:
      break;
  }
  const bool ends = topology.node_of(link.from) >= 0 || topology.node_of(link.to) >= 0;
  return ends ? Limit::nic : Limit::uplink;
}

Limit limit_of_resource(const Topology& topology, const ResourceOrigin& origin) {
  if (origin.host) return Limit::host_memory;
  if (!origin.shared) return limit_of_link(topology, origin.id);
  const SharedResource shared = topology.shared_resource(origin.id);
  return shared.links.empty() ? Limit::nvlink : limit_of_link(topology, shared.links[0]);
}

}  // namespace

std::string_view to_string(Limit limit) {
  switch (limit) {
    case Limit::latency:
      return "latency";
    case Limit::nvlink:
      return "NVLink";
    case Limit::pcie:
      return "PCIe";
    case Limit::cpu_link:
      return "CPU link";
    case Limit::host_memory:
      return "memory";
    case Limit::nic:
      return "NIC";
    case Limit::uplink:
      return "uplink";
    case Limit::thread_block:
      return "SM";
  }
  return "";
}

LimitUse limit_of(const CompiledCall& call, Seconds time) {
  const Wiring& wiring = call.wiring();
  const ProtocolConstants& cost = call.compiler->cost().of(call.protocol);
  const ResourceLoad load = resource_load(call.plan(), call.partition, wiring, cost);
  LimitUse use;
  const auto consider = [&](double seconds, Limit limit) {
    const double utilisation = seconds / time.value;
    if (limit == Limit::uplink) use.uplink = std::max(use.uplink, utilisation);
    if (utilisation > use.utilisation * (1 + same_use) ||
        (utilisation > use.utilisation * (1 - same_use) && limit > use.limit)) {
      use.limit = limit;
      use.utilisation = utilisation;
    }
  };
  for (std::size_t i = 0; i < load.resources.size(); ++i) {
    if (load.resources[i] == 0) continue;
    consider(load.resources[i] / wiring.capacities[i].value,
             limit_of_resource(call.compiler->topology(), wiring.origins[i]));
  }
  for (const auto& ranks : load.thread_blocks) {
    for (const ThreadBlockLoad& block : ranks) consider(block.busy.value, Limit::thread_block);
  }
  if (use.utilisation < busy) use.limit = Limit::latency;
  return use;
}

}  // namespace collsim
