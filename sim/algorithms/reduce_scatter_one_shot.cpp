#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/every_pair.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("reduce-scatter");
  scatter_to_owners(group);
}

}  // namespace

constexpr Algorithm reduce_scatter_one_shot{
    "one_shot",
    Collective::reduce_scatter,
    "everybody sums its part of the buffer from all: 1 step, least bytes",
    unsupported_by_pairs,
    chunk_per_rank,
    emit,
    Growth::share_per_rank};

}  // namespace collsim
