#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("scatter");
  group.step();
  for (Rank rank = 0; rank < group.size(); ++rank) {
    if (rank != group.root()) group.copy(group.root(), rank, {rank, 1});
  }
}

}  // namespace

constexpr Algorithm scatter_direct{"direct",
                                   Collective::scatter,
                                   "the root sends to one after the other: N-1 steps",
                                   supports_everything,
                                   chunk_per_rank,
                                   emit,
                                   Growth::share_per_rank};

}  // namespace collsim
