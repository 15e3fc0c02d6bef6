#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("reduce-scatter");
  ring_reduce_scatter(group);
}

}  // namespace

constexpr Algorithm reduce_scatter_ring{
    "ring",
    Collective::reduce_scatter,
    "every part is summed once around the ring: least bytes, N-1 steps",
    supports_everything,
    chunk_per_rank,
    emit,
    Growth::share_per_rank};

}  // namespace collsim
