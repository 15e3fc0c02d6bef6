#pragma once

#include <cstdint>

#include "sim/base/units.h"
#include "sim/cost/calibration.h"

namespace collsim {

/// What a lane of a thread block is, for the time of its slices (sim/execution/worker.h).
struct LaneSetting {
  const ProtocolCost* cost = nullptr;  ///< of its slowest link
  std::uint32_t warps = 0;
  double full_warps = 1;       ///< of the largest thread block
  Seconds block_step;          ///< Corrections::half_block, where it counts
  bool several_peers = false;  ///< runs a tree's code
  double speed = 1;            ///< of the rank when it moves data, 1 as it should be
};

/// One slice of a primitive.
struct SliceWork {
  Operations operations;
  bool passes_on = false;  ///< as it came (Corrections::copy_step)
  double bytes = 0;        ///< of data
  double share = 0;        ///< bytes per second that its links leave it; infinite: all it wants
  double load = 1;         ///< bytes on its links per byte on the wire (contended_share())
  bool amid = false;       ///< a long call, where slices go in few pieces
  bool waits = true;       ///< for a peer, so that own data are there before (first_load())
};

/// How long a slice takes, part by part, in seconds.
struct SliceTime {
  double before = 0;  ///< until its data move
  double first = 0;   ///< the first piece that goes on by itself
  double moving = 0;  ///< all pieces
  double after = 0;   ///< when the peer has all

  /// How long it keeps the thread block.
  double occupancy() const { return before + moving + after; }
  /// Until something of it is under way to the peer.
  double head() const { return before + first; }
  /// Until all of it is.
  double sent() const { return before + moving; }
};

/// The equations of docs/cost-model.md for one slice.
SliceTime slice_time(const LaneSetting& lane, const SliceWork& work);

}  // namespace collsim
