#pragma once

#include <span>
#include <vector>

#include "sim/topologies/routing.h"
#include "sim/topology.h"
#include "sim/transfer_cost.h"
#include "sim/wiring.h"

namespace collsim {

/// Numbers links and shared resources of a machine as wires come to use them. It refers to both.
class ResourceTable {
 public:
  /// Goes on where the wiring is; set_efficiency() is due when all is laid.
  ResourceTable(const Topology& topology, Wiring& wiring);

  /// The wire of a route. What it uses first is added to the wiring.
  Wire lay(const Route& route, const TransferCost& cost);

 private:
  void add_link(LinkId id, std::vector<ResourceId>& route);
  ResourceId add(BytesPerSecond nominal, std::optional<LinkKind> kind, ResourceOrigin origin);

  const Topology& topology_;
  Wiring& wiring_;
  std::vector<ResourceId> of_link_;
  std::vector<ResourceId> of_shared_;
  std::vector<std::vector<SharedResourceId>> shared_by_link_;
};

}  // namespace collsim
