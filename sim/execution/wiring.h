#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/cost/slice_cost.h"
#include "sim/fabric/fabric.h"
#include "sim/plan/plan.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// What one connection of a plan runs over.
struct Wire {
  std::vector<ResourceId> resources;  ///< capacities that its bytes load, each once
  Seconds latency;                    ///< latency of the links on the way
  LinkKind kind = LinkKind::nvlink;   ///< of the slowest class of link on the way
  /// The resources that the bytes load over the network where a proxy carries them, after
  /// `resources` took them into its buffer. Empty where there is no proxy.
  std::vector<ResourceId> network{};
};

/// What hops through host memory share beyond links.
enum class HostShare : std::uint8_t {
  memory,  ///< of a node
  gpu,     ///< a GPU's PCIe link, both ways together
  link,    ///< a PCIe link between a switch and a host, one way
};

/// What of a machine a capacity stands for: a link, or a shared resource.
struct ResourceOrigin {
  bool shared = false;
  std::uint32_t id =
      0;  ///< LinkId or SharedResourceId; of a HostShare the node, DeviceId or LinkId
  std::optional<HostShare> host{};  ///< then `shared`
};

/// A plan laid onto a machine: the machine's capacities, and for every channel and connection the
/// wire it uses. `wires[channel][connection]` follows Schedule::connections().
struct Wiring {
  std::vector<BytesPerSecond> capacities{};  ///< by ResourceId
  /// What the topology says of each resource, and the kind of link it is, if it is one: a link
  /// carries its kind's efficiency times that, a shared resource all of it.
  std::vector<BytesPerSecond> nominal{};
  std::vector<std::optional<LinkKind>> kinds{};
  std::vector<Burst> bursts{};  ///< by ResourceId, or shorter: no others have one
  std::vector<std::vector<Wire>> wires{};
  std::vector<ResourceOrigin> origins{};  ///< of the capacities; empty where there is no machine
};

/// How long after its last byte has left the peer of a connection sees a message, the links' own
/// latency aside. A switch that adds up sees nothing: an NVSwitch is part of the load or store of a
/// GPU, which alone has a flag to poll; a network's is on the way from GPU to GPU, whose NICs and
/// proxies alpha counts once for both ends (NCCL src/graph/tuning.cc: one hop between nodes for
/// CollNet).
inline Seconds hop_alpha(const Schedule& schedule, const Connection& connection, LinkKind kind,
                         const ProtocolConstants& cost, bool several_peers) {
  if (schedule.is_agent(connection.dst)) return {};
  return message_alpha(cost, kind, several_peers);
}

}  // namespace collsim
