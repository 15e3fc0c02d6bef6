#include "models/machine/resource_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace collsim {

namespace {

constexpr ResourceId unused = std::numeric_limits<ResourceId>::max();

}  // namespace

std::string resource_name(const Topology& topology, const ResourceOrigin& origin) {
  if (origin.host == HostShare::memory) return fmt::format("host memory of node {}", origin.id);
  if (origin.host == HostShare::gpu) {
    return fmt::format("{} <-> host memory", topology.device_name(origin.id));
  }
  if (origin.host == HostShare::link) {
    return fmt::format("{} to or from host memory", topology.link_name(origin.id));
  }
  if (origin.shared) return topology.shared_resource_name(origin.id);
  return fmt::format("{} ({})", topology.link_name(origin.id),
                     to_string(topology.link(origin.id).kind));
}

Wire wire_along(const Topology& topology, std::span<const LinkId> way) {
  Wire wire;
  for (const LinkId id : way) {
    const Link link = topology.link(id);
    wire.latency += link.latency;
    wire.kind = std::max(wire.kind, link.kind);
  }
  return wire;
}

ResourceTable::ResourceTable(const Topology& topology, Wiring& wiring)
    : topology_(topology),
      wiring_(wiring),
      of_link_(topology.links().size(), unused),
      is_alone_(topology.links().size()),
      of_shared_(topology.shared_resources().size(), unused) {
  for (ResourceId id = 0; id < wiring.origins.size(); ++id) {
    const ResourceOrigin& origin = wiring.origins[id];
    if (origin.host) continue;  // not of the topology
    (origin.shared ? of_shared_ : of_link_)[origin.id] = id;
  }
}

void ResourceTable::load(Wire& wire, std::span<const LinkId> way, bool has_proxy) {
  bool on_network = false;
  for (const LinkId link : way) {
    on_network = on_network || (has_proxy && topology_.link(link).kind == LinkKind::network);
    add_link(link, on_network ? wire.network : wire.resources);
  }
}

std::optional<ResourceId> ResourceTable::resource_of(LinkId link) const {
  return of_link_[link] == unused ? std::nullopt : std::optional(of_link_[link]);
}

void ResourceTable::add_link(LinkId id, std::vector<ResourceId>& route) {
  if (of_link_[id] == unused) {
    const Link link = topology_.link(id);
    of_link_[id] = add(link.bandwidth, link.kind, {false, id});
    is_alone_[id] = topology_.shares_of_link(id).empty();
    if (link.burst.size.count > 0) {
      wiring_.bursts.resize(wiring_.nominal.size());
      wiring_.bursts.back() = link.burst;
    }
  }
  route.push_back(of_link_[id]);
  if (is_alone_[id]) return;
  for (const SharedResourceId shared : topology_.shares_of_link(id)) {
    if (of_shared_[shared] == unused) {
      of_shared_[shared] =
          add(topology_.shared_resource(shared).bandwidth, std::nullopt, {true, shared});
    }
    const ResourceId resource = of_shared_[shared];
    if (std::find(route.begin(), route.end(), resource) == route.end()) {
      route.push_back(resource);
    }
  }
}

ResourceId ResourceTable::add(BytesPerSecond nominal, std::optional<LinkKind> kind,
                              ResourceOrigin origin) {
  const auto id = static_cast<ResourceId>(wiring_.nominal.size());
  wiring_.nominal.push_back(nominal);
  wiring_.kinds.push_back(kind);
  wiring_.origins.push_back(origin);
  return id;
}

}  // namespace collsim
