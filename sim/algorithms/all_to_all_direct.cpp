#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

// Chunk i N + j goes from i to j. In step d everybody sends to the rank d after it, so that nobody
// receives twice in a step.
void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  const Rank n = group.size();
  group.phase("exchange");
  for (Rank distance = 1; distance < n; ++distance) {
    group.step();
    for (Rank rank = 0; rank < n; ++rank) {
      const Rank to = (rank + distance) % n;
      group.copy(rank, to, {rank * n + to, 1});
    }
  }
}

std::uint32_t chunks(const Placement& placement, const Algorithm* /*inter*/) {
  return blocks(Collective::all_to_all, placement.ranks());
}

}  // namespace

constexpr Algorithm all_to_all_direct{"direct",
                                      Collective::all_to_all,
                                      "everybody sends to everybody in turn: N-1 steps",
                                      supports_everything,
                                      chunks,
                                      emit,
                                      Growth::share_per_rank};

}  // namespace collsim
