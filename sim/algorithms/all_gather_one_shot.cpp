#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/every_pair.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("all-gather");
  gather_from_owners(group);
}

}  // namespace

constexpr Algorithm all_gather_one_shot{
    "one_shot",
    Collective::all_gather,
    "everybody sends its part to everybody: 1 step, least bytes",
    unsupported_by_pairs,
    chunk_per_rank,
    emit,
    Growth::share_per_rank};

}  // namespace collsim
