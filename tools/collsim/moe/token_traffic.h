#pragma once

#include <cstdint>
#include <vector>

#include "tools/collsim/moe/skew.h"
#include "tools/collsim/moe/traffic_matrix.h"

namespace collsim {

/// Experts that lie on ranks in their order, and how many of them a token goes to.
struct ExpertPlaces {
  std::uint32_t experts = 256;
  std::uint32_t top_k = 8;
  /// The most hosts that the experts of a token lie on, chosen first (DeepSeek-V3's gate: 4).
  std::uint32_t hosts_per_token = 4;
  std::vector<std::uint32_t> host_of_rank;  ///< hosts count from 0, in the order of ranks

  std::uint32_t ranks() const { return static_cast<std::uint32_t>(host_of_rank.size()); }
  std::uint32_t hosts() const;
  /// Expert e of E is on rank e R / E, rounded down.
  std::uint32_t rank_of(std::uint32_t expert) const;
  /// The first expert of a rank or a later one; `experts` where there is none.
  std::uint32_t first_expert(std::uint32_t rank) const;
};

/// The ranks and hosts to which an average token of each rank goes. A token that goes to several
/// experts of a rank, or of a host, counts once there.
struct TokenTraffic {
  std::vector<double> tokens;  ///< by rank: how many it has, times what a rank has on average
  TrafficMatrix ranks;         ///< the chance that a token of a rank goes to a rank
  TrafficMatrix experts;       ///< how many experts of a rank it goes to
  TrafficMatrix hosts;         ///< the chance that it goes to a host: [rank][host]
};

/// The traffic of a router, which draws experts one after the other by their weights, without those
/// drawn before; a uniform one has equal weights. That is a race of exponential clocks of rates w,
/// looked at when k have rung on the average, at t: an expert has rung with chance 1 - exp(-w t).
/// So is the choice of hosts before. None of a rank's experts is among the first k where k of the
/// others ring before them: with chance L / (L + w) for each, where L is what is left of the others
/// then. With e of E equal experts that is C(E - e, k) / C(E, k), exactly. Throws InputError for
/// experts, top-k and files that do not fit each other.
TokenTraffic token_traffic(const ExpertPlaces& places, const Skew& skew);

}  // namespace collsim
