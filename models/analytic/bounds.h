#pragma once

#include <span>
#include <string_view>

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

/// One way to run a collective, as far as bounds depend on it.
struct BoundedCall {
  Collective collective = Collective::all_reduce;
  Rank root = 0;  ///< counts only where the collective has one
  Bytes size;     ///< nccl-tests'
  /// How many calls in a row the time is the mean of. With a root, one call may begin before the
  /// last one has reached everybody.
  std::uint32_t calls = 1;
};

/// The bounds of a call on the machine without faults. `gpus[r]` is the device of rank r.
Bounds lower_bounds(const Topology& topology, std::span<const DeviceId> gpus,
                    const BoundedCall& call);

/// What a link carries on the wire. For PCIe, topologies have what NCCL plans with, 12, 24 and 48
/// GB/s for sixteen lanes (NCCL 2.30, src/graph/topo.cc); on the wire these are 15.75, 31.5 and 63
/// (PCI Express Base Specification: 8, 16 and 32 GT/s a lane, 128b/130b).
BytesPerSecond line_rate(const Link& link);

/// Throws std::logic_error where a time is below `least` by more than rounding: a bug of ours, and
/// no answer to give anybody. `what` begins the message.
void check_not_below(Seconds time, Seconds least, std::string_view what);

}  // namespace collsim
