#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/plan/collective.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Times that no run on a machine can beat, whatever the algorithm: line rates of its links, and
/// the latency of its cables and switches. Nothing in them is fitted. Derivations:
/// docs/algorithms.md.
struct Bounds {
  /// The bytes that must cross the ports of GPUs and of nodes, at line rate.
  Seconds bandwidth;
  /// The latency of the path from a rank to the farthest other rank.
  Seconds latency;

  Seconds largest() const;
};

/// One direction of the ports of some ranks, and the bytes that must cross it.
struct Cut {
  double load = 0;   ///< bytes per byte of the call's size
  double rate = 0;   ///< bytes per second
  double burst = 0;  ///< bytes that pass at once
  auto operator<=>(const Cut&) const = default;
};

/// The bounds of a collective's calls on a machine without faults, found once for all sizes.
class MachineBounds {
 public:
  /// `gpus[r]` is the device of rank r. `root` counts only if the collective has one. A time is the
  /// mean of `calls` calls in a row: with a root, one call may begin before the previous one has
  /// reached all ranks. Throws InputError if the root is none of the ranks.
  MachineBounds(const Topology& topology, std::span<const DeviceId> gpus, Collective collective,
                Rank root = 0, std::uint32_t calls = 1);

  /// The bounds of a call; `size` as nccl-tests counts it.
  Bounds of(Bytes size) const;

 private:
  Collective collective_;
  std::vector<Cut> cuts_;
  Seconds latency_;
};

/// Throws std::logic_error if a time is below `least` by more than rounding: that is a bug of
/// collsim. `what` begins the message.
void check_not_below(Seconds time, Seconds least, std::string_view what);

}  // namespace collsim
