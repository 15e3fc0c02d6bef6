#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/analytic/call_time.h"
#include "models/analytic/slice_time.h"
#include "sim/execution/binding.h"
#include "sim/execution/thread_block_cost.h"
#include "sim/plan/collective.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Ranks of a ring that are alike, and their hops to the next rank.
struct RingPlace {
  double weight = 0;                    ///< how many
  LinkKind slowest = LinkKind::nvlink;  ///< link that the rank works with
  double speed = 1;                     ///< of the rank, as of a LaneSetting
  HopClass hop;
  bool operator==(const RingPlace&) const = default;
};

/// One channel's ring by classes of ranks.
using Ring = std::vector<RingPlace>;

/// What a ring carries on its busiest channel, and how it is cut.
struct RingCall {
  Collective collective = Collective::all_reduce;
  bool in_place = false;
  Rank ranks = 0;
  std::uint32_t warps = 0;
  double full_warps = 1;
  bool half_block = false;
  /// Of rooted collectives on several rings, whose ranks come after each other, each on another
  /// ring: the share of the way round a ring that is between two calls, since no rank begins its
  /// next call before it has ended the last on all rings.
  double turn = 0;
  double startup = 0;  ///< of a call, in seconds
  double calls = 1;    ///< in a row
  std::uint32_t loops = 0;
  double full = 0;    ///< bytes of a chunk in all loops but the last,
  double last = 0;    ///< in the last,
  double filled = 0;  ///< in which so many chunks of a loop have data
  Chunking chunking{};
  const ProxyCost* proxy = nullptr;  ///< where the CPU carries what goes over a network
};

/// The time of a call over one ring. Derivation: docs/algorithms.md.
FormTime ring_time(const Ring& ring, const ThreadBlockCosts& costs, const RingCall& call);

}  // namespace collsim
