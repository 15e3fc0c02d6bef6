#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/execution/wiring.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// What the whole way says: its latency and the slowest kind of its links. It loads nothing yet.
Wire wire_along(const Topology& topology, std::span<const LinkId> way);

/// What a person calls a capacity: "gpu0 -> nvswitch0 (nvlink)", "host memory of node 3".
std::string resource_name(const Topology& topology, const ResourceOrigin& origin);

/// Numbers links and shared resources of a machine as wires come to use them. It refers to both.
class ResourceTable {
 public:
  /// Goes on where the wiring is; set_efficiency() is due when all is laid.
  ResourceTable(const Topology& topology, Wiring& wiring);

  /// Lets the wire load what lies on the way; what is used for the first time is added to the
  /// wiring. With a proxy all from the first link of a network on is the proxy's to load.
  void load(Wire& wire, std::span<const LinkId> way, bool has_proxy);
  /// The resource of a link that is used; else nothing.
  std::optional<ResourceId> resource_of(LinkId link) const;

 private:
  void add_link(LinkId id, std::vector<ResourceId>& route);
  ResourceId add(BytesPerSecond nominal, std::optional<LinkKind> kind, ResourceOrigin origin);

  const Topology& topology_;
  Wiring& wiring_;
  std::vector<ResourceId> of_link_;
  // Of a link that is used: whether it draws on nothing else, which need not be looked up again.
  std::vector<bool> is_alone_;
  std::vector<ResourceId> of_shared_;
};

}  // namespace collsim
