#include "sim/algorithms/every_pair.h"

#include <fmt/format.h>

#include "sim/plan/schedule_builder.h"

namespace collsim {

namespace {

// Every pair is a connection: 2,048 ranks already have four million.
constexpr Rank max_ranks = 2048;

}  // namespace

std::optional<std::string> unsupported_by_pairs(const Placement& placement,
                                                const Algorithm* /*inter*/) {
  if (placement.ranks() <= max_ranks) return std::nullopt;
  return fmt::format("{} ranks; at most {}, since every pair is connected", placement.ranks(),
                     max_ranks);
}

void scatter_to_owners(Group& group) {
  group.step();
  const Rank n = group.size();
  for (Rank distance = 1; distance < n; ++distance) {
    for (Rank from = 0; from < n; ++from) {
      const Rank owner = (from + distance) % n;
      group.reduce(from, owner, {owner, 1});
    }
  }
}

void gather_from_owners(Group& group) {
  group.step();
  const Rank n = group.size();
  for (Rank owner = 0; owner < n; ++owner) {
    for (Rank distance = 1; distance < n; ++distance) {
      group.copy(owner, (owner + distance) % n, {owner, 1});
    }
  }
}

}  // namespace collsim
