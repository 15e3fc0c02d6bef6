#include "sim/topologies/alpha_beta.h"

#include <fmt/format.h>

namespace collsim {

Topology alpha_beta_machine(Rank ranks, Seconds alpha, BytesPerSecond bandwidth) {
  TopologyBuilder builder(
      fmt::format("a machine of alpha {} and {}", to_string(alpha), to_string(bandwidth)), "ideal");
  builder.add_nodes({.devices = {{"gpu0", DeviceKind::gpu}}, .links = {}, .shares = {}}, ranks);
  const DeviceId hub = builder.add_device({"switch0", DeviceKind::network_switch});
  for (Rank rank = 0; rank < ranks; ++rank) {
    // A message crosses two links, so that each has half of alpha.
    builder.add_link(builder.node(rank).first_device, hub, LinkKind::network, bandwidth,
                     0.5 * alpha);
  }
  return std::move(builder).build();
}

}  // namespace collsim
