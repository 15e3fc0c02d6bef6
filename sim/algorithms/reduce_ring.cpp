#include "sim/algorithms/other_collectives.h"
#include "sim/algorithms/rooted.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("reduce");
  for (Rank i = group.size() - 1; i > 0; --i) {
    group.step();
    group.reduce(after_root(group, i), after_root(group, i - 1), {0, 1});
  }
}

}  // namespace

constexpr Algorithm reduce_ring{"ring",
                                Collective::reduce,
                                "along the ring to the root: N-1 steps, streams at the full rate",
                                supports_everything,
                                one_chunk,
                                emit,
                                Growth::all_per_rank};

}  // namespace collsim
