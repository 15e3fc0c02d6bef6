#include <fmt/format.h>

#include "sim/algorithms/all_reduce.h"

namespace collsim {

namespace {

// Every pair is a connection: 2,048 ranks already have four million.
constexpr Rank max_ranks = 2048;

std::optional<std::string> unsupported(const Placement& placement, const Algorithm* /*inter*/) {
  if (placement.ranks() <= max_ranks) return std::nullopt;
  return fmt::format("all_to_all_broadcast: {} ranks; at most {}, since every pair is connected",
                     placement.ranks(), max_ranks);
}

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("broadcast");
  group.step();
  for (Rank from = 0; from < group.size(); ++from) {
    for (Rank to = 0; to < group.size(); ++to) {
      if (to != from) group.reduce(from, to, {0, 1});
    }
  }
}

}  // namespace

constexpr Algorithm all_reduce_all_to_all_broadcast{
    "all_to_all_broadcast",
    Collective::all_reduce,
    "everybody sends the whole buffer to everybody: 1 step, N(N-1) messages",
    unsupported,
    one_chunk,
    emit};

}  // namespace collsim
