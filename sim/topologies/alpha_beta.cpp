#include "sim/topologies/alpha_beta.h"

#include <fmt/format.h>

namespace collsim {

namespace {

Graph node_of(Rank gpus) {
  Graph node;
  for (Rank gpu = 0; gpu < gpus; ++gpu) {
    node.devices.push_back({fmt::format("gpu{}", gpu), DeviceKind::gpu});
  }
  return node;
}

}  // namespace

Topology alpha_beta_machine(Rank ranks, Seconds alpha, BytesPerSecond bandwidth, Rank per_node) {
  TopologyBuilder builder(
      fmt::format("a machine of alpha {} and {}", to_string(alpha), to_string(bandwidth)), "ideal");
  if (ranks >= per_node) builder.add_nodes(node_of(per_node), ranks / per_node);
  if (ranks % per_node != 0) builder.add_nodes(node_of(ranks % per_node), 1);
  const DeviceId hub = builder.add_device({"switch0", DeviceKind::network_switch});
  for (Rank rank = 0; rank < ranks; ++rank) {
    // A message crosses two links, so that each has half of alpha.
    const DeviceId gpu = builder.node(rank / per_node).first_device + rank % per_node;
    builder.add_link(gpu, hub, LinkKind::network, bandwidth, 0.5 * alpha);
  }
  return std::move(builder).build();
}

}  // namespace collsim
