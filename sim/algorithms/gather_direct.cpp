#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("gather");
  group.step();
  for (Rank rank = 0; rank < group.size(); ++rank) {
    if (rank != group.root()) group.copy(rank, group.root(), {rank, 1});
  }
}

}  // namespace

constexpr Algorithm gather_direct{"direct",
                                  Collective::gather,
                                  "all send to the root: 1 step",
                                  supports_everything,
                                  chunk_per_rank,
                                  emit,
                                  Growth::share_per_rank};

}  // namespace collsim
