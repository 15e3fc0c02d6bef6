#include "sim/topologies/alpha_beta.h"

#include <fmt/format.h>

namespace collsim {

Topology alpha_beta_machine(Rank ranks, Seconds alpha, BytesPerSecond bandwidth) {
  TopologyBuilder builder(
      fmt::format("a machine of alpha {} and {}", to_string(alpha), to_string(bandwidth)), "ideal");
  const DeviceId hub = builder.add_device({"switch0", DeviceKind::network_switch, -1, {}});
  for (Rank rank = 0; rank < ranks; ++rank) {
    const DeviceId gpu = builder.add_device(
        {fmt::format("node{}/gpu0", rank), DeviceKind::gpu, static_cast<std::int32_t>(rank), {}});
    // A message crosses two links, so that each has half of alpha.
    builder.add_link(gpu, hub, LinkKind::network, bandwidth, 0.5 * alpha);
  }
  return std::move(builder).build();
}

}  // namespace collsim
