#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/topology.h"
#include "sim/units.h"

namespace collsim {

/// Hosts that were played on one machine: each a network namespace with some of the GPUs and one
/// shaped interface, all on one bridge.
struct PlayedHosts {
  struct SlowHost {
    std::uint32_t host = 0;
    BytesPerSecond rate;
    auto operator<=>(const SlowHost&) const = default;
  };

  std::uint32_t count = 1;
  std::uint32_t gpus = 1;  ///< of each
  BytesPerSecond rate;     ///< of every host's interface, each way
  Bytes burst{};           ///< of its shaper
  std::optional<SlowHost> slow{};
  /// The first half of the hosts and the second are on bridges of their own, which a link of this
  /// rate joins.
  std::optional<BytesPerSecond> uplink{};

  auto operator<=>(const PlayedHosts&) const = default;
};

/// The machine that the recorded calls saw: every host has the first GPUs of `machine`'s first
/// node, all that joins them, and an Ethernet interface on its first CPU. NCCL cannot read the rate
/// of such an interface and takes 10 Gb/s. Throws InputError where a node has too few GPUs.
Topology play_hosts(const PlayedHosts& hosts, const Topology& machine);

/// What an id of a recordings CSV says of its hosts, by the convention of recordings/README.md:
/// "net8x1-5g-b64k-slow3-500m-Ring-Simple". Nothing where it says no rate.
std::optional<PlayedHosts> played_hosts_of_id(std::string_view id);

}  // namespace collsim
