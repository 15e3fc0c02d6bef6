#pragma once

#include <cstdint>
#include <vector>

#include "models/link_classes.h"
#include "models/predictor.h"

namespace collsim {

/// What becomes of a call when one cable of a class is degraded, both ways.
struct RankedLink {
  LinkClass links;  ///< any one of these
  double busy = 0;  ///< of the healthy call's time: the busier direction at its full rate
  Seconds time;     ///< with the fault
  double slowdown = 1;
  bool simulated = true;  ///< else `time` is a lower bound: the degraded cable's own work
};

struct FaultRanking {
  Prediction healthy;  ///< where that was too much to simulate: no transfers, the bound as its time
  double share = 1;    ///< of the bandwidth that a degraded cable has left
  std::vector<RankedLink> links;  ///< worst first
  std::size_t idle_cables = 0;    ///< that the call does not use: they slow nothing down
};

/// How much work a ranking may be.
struct RankingEffort {
  std::uint64_t healthy = 40'000'000;    ///< transfers of the healthy call, to be simulated at all
  std::uint64_t transfers = 30'000'000;  ///< simulated in all beside it
  unsigned threads = 1;
};

/// Degrades every cable that the call uses, one of each class, and simulates the call anew: those
/// that cannot but cost most first, as many as the effort allows. A call that is too large even
/// when healthy is compared by lower bounds alone.
FaultRanking rank_links(const Predictor& predictor, Bytes size, double share,
                        const RankingEffort& effort);

}  // namespace collsim
