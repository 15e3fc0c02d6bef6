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
  /// What must cross the ports of GPUs and of nodes, at line rate.
  Seconds bandwidth;
  /// The way from a rank to the farthest other rank.
  Seconds latency;

  Seconds largest() const;
};

/// One direction of the ports of some ranks, and what must go through it.
struct Cut {
  double load = 0;   ///< bytes, for each of the call's size
  double rate = 0;   ///< bytes per second
  double burst = 0;  ///< bytes that pass at once
  auto operator<=>(const Cut&) const = default;
};

/// The bounds of a collective's calls on a machine without faults, found once for all sizes.
class MachineBounds {
 public:
  /// `gpus[r]` is the device of rank r. `root` counts only where the collective has one. `calls` is
  /// how many calls in a row a time is the mean of: with a root, one call may begin before the last
  /// one has reached everybody. Throws InputError where a root is none of the ranks.
  MachineBounds(const Topology& topology, std::span<const DeviceId> gpus, Collective collective,
                Rank root = 0, std::uint32_t calls = 1);

  /// `size` is nccl-tests'.
  Bounds of(Bytes size) const;

 private:
  Collective collective_;
  std::vector<Cut> cuts_;
  Seconds latency_;
};

/// What a link carries on the wire. For PCIe, topologies have what NCCL plans with, 12, 24 and 48
/// GB/s for sixteen lanes (NCCL 2.30, src/graph/topo.cc); on the wire these are 15.75, 31.5 and 63
/// (PCI Express Base Specification: 8, 16 and 32 GT/s a lane, 128b/130b).
BytesPerSecond line_rate(const Link& link);

/// Throws std::logic_error where a time is below `least` by more than rounding: a bug of ours, and
/// no answer to give anybody. `what` begins the message.
void check_not_below(Seconds time, Seconds least, std::string_view what);

}  // namespace collsim
