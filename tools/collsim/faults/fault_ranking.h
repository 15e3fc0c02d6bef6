#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/call/prediction.h"
#include "models/faults/link_classes.h"

namespace collsim {

/// What is known of a time.
enum class TimeOrigin : std::uint8_t {
  simulated,     ///< every message
  steady_state,  ///< continued where it repeats itself (SteadyState)
  scaled,        ///< that of a small cluster, scaled (ScaledCall)
  bounds,        ///< not below, and not above
};
/// The words for an origin: "simulated", "steady state", "scaled" or "bounds".
std::string_view to_string(TimeOrigin origin);

/// What becomes of a call when one cable of a class is degraded, both ways.
struct RankedLink {
  LinkClass links;  ///< any one of these
  double busy = 0;  ///< of the healthy call's time: the busier direction at its full rate
  /// With the fault. Where it is a lower bound: what the degraded cable has to carry, and the
  /// healthy call, which fair sharing may undercut by a per cent where a cable holds others back.
  Seconds time;
  /// An upper bound, where `time` is a lower one: the healthy call, slowed down for as long as it
  /// gives the cable more than the cable now carries. That is a way in which the degraded machine
  /// could run the call; sharing links fairly is taken to do no worse. Infinite where the healthy
  /// time is not known.
  Seconds at_most;
  double slowdown = 1;
  double slowdown_at_most = 1;
  TimeOrigin origin = TimeOrigin::simulated;
};

struct FaultRanking {
  Prediction healthy;  ///< its time is a lower bound where `origin` says so
  TimeOrigin origin = TimeOrigin::simulated;
  double share = 1;  ///< of the bandwidth that a degraded cable has left
  /// Worst first; what bounds alone are known of stands at its lower bound.
  std::vector<RankedLink> links;
  std::size_t idle_cables = 0;  ///< that the call does not use: they slow nothing down
};

/// How much work a ranking may be.
struct RankingEffort {
  std::uint64_t healthy = 25'000'000;    ///< messages of the healthy call
  std::uint64_t transfers = 10'000'000;  ///< messages of all others
  std::size_t scaled = 16;               ///< cables, where small clusters stand for the machine
  std::uint32_t threads = 1;
};

/// Degrades every cable that the call uses, one of each class, and simulates the call anew: the
/// busiest cables first, as many as the effort allows; of the others there are bounds. Where a
/// small cluster stands for the machine, it does so with each fault that it can have; of cables
/// between switches, which it has not, there are bounds. Where even the healthy call's steady state
/// is too large, all is lower bounds.
FaultRanking rank_links(const CompiledCall& call, double share, const RankingEffort& effort);

}  // namespace collsim
