#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/topology.h"
#include "sim/units.h"

namespace collsim {

/// NCCL's wire protocols (NCCL src/include/device.h).
enum class Protocol : std::uint8_t { ll, ll128, simple };
inline constexpr std::size_t protocol_count = 3;
std::string_view to_string(Protocol protocol);

/// What moving data costs a rank beyond its links, for one protocol. The zero-cost default is the
/// textbook's alpha-beta machine: only links limit.
struct ProtocolCost {
  /// Once per call, on top of TransferCost::launch: what the kernel sets up for this protocol.
  Seconds setup;
  /// Serial time of the sending thread block for every slice: barrier, fence, counter.
  Seconds slice;
  /// And for each of its warps: the barrier waits for all.
  Seconds slice_per_warp;
  /// Time from the last byte on the wire until the peer sees it, per kind of the slowest link on
  /// the way; on top of the links' own latency.
  std::array<Seconds, link_kind_count> alpha{};
  /// What the thread block of one (rank, channel) moves in all, shared by its lanes.
  BytesPerSecond channel = unlimited;
  /// What one lane reaches while it reduces, copies onward, or only stores what came.
  BytesPerSecond reduce = unlimited;
  BytesPerSecond copy = unlimited;
  BytesPerSecond store = unlimited;
  /// Bytes on the wire per byte of data: LL 2, LL128 128/120, Simple 1.
  double wire_factor = 1;
  /// A receiver may go on with the first so many bytes of a slice before the rest is there; 0 means
  /// that it needs the whole slice. LL and LL128 flag every line, so that a thread block forwards
  /// as much as its threads handle at a time.
  Bytes granule{};
};

/// The CPU thread that carries what a thread block has put into a buffer over the network, slice
/// after slice, while the thread block goes on. Not used where a machine's network is part of its
/// GPUs' links.
struct ProxyCost {
  bool used = false;
  Seconds message;                  ///< serial, per slice and connection
  BytesPerSecond rate = unlimited;  ///< of one connection (a TCP stream)
};

/// Everything that a calibration says about a machine.
struct TransferCost {
  std::string calibration = "ideal";  ///< name of the file it came from
  Seconds launch;                     ///< once per call
  std::array<ProtocolCost, protocol_count> protocols{};
  ProxyCost proxy;
  /// What a link really carries, as a share of its nominal bandwidth.
  std::array<double, link_kind_count> efficiency{1, 1, 1, 1};

  const ProtocolCost& of(Protocol protocol) const {
    return protocols[static_cast<std::size_t>(protocol)];
  }
};

}  // namespace collsim
