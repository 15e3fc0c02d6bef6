#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/base/scramble.h"
#include "sim/nccl/nccl_algorithm.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Remembers the links that hops take on one machine under one set of NCCL's rules, for questions
/// that differ by faults alone: a hop's way is that of the healthy machine, whatever is slow on it.
/// Not for several threads at once.
class KnownWays {
 public:
  struct Hop {
    std::uint32_t channel = 0;
    Rank from = 0;
    Rank to = 0;
    bool operator==(const Hop&) const = default;
  };
  struct HopHash {
    std::size_t operator()(const Hop& hop) const {
      return scramble(scramble((std::uint64_t{hop.from} << 32U) + hop.to) + hop.channel);
    }
  };
  using OfAlgorithm = std::unordered_map<Hop, std::vector<LinkId>, HopHash>;

  /// Those of an algorithm; without one, of sends and receives.
  OfAlgorithm& of(std::optional<NcclAlgorithm> algorithm) { return ways_[algorithm]; }

 private:
  std::map<std::optional<NcclAlgorithm>, OfAlgorithm> ways_;
};

}  // namespace collsim
