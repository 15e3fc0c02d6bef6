#include "sim/algorithms/other_collectives.h"
#include "sim/algorithms/rooted.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("broadcast");
  for (Rank i = 0; i + 1 < group.size(); ++i) {
    group.step();
    group.copy(after_root(group, i), after_root(group, i + 1), {0, 1});
  }
}

}  // namespace

constexpr Algorithm broadcast_ring{
    "ring",
    Collective::broadcast,
    "from the root along the ring: N-1 steps, streams at the full rate",
    supports_everything,
    one_chunk,
    emit,
    Growth::all_per_rank};

}  // namespace collsim
