#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/every_pair.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("reduce-scatter");
  scatter_to_owners(group);
  group.phase("all-gather");
  gather_from_owners(group);
}

}  // namespace

constexpr Algorithm all_reduce_two_shot{
    "two_shot",
    Collective::all_reduce,
    "everybody sums its part of the buffer from all, then sends it to all: 2 steps, least bytes",
    unsupported_by_pairs,
    chunk_per_rank,
    emit,
    Growth::share_per_rank};

}  // namespace collsim
