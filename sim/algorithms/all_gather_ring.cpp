#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("all-gather");
  ring_all_gather(group);
}

}  // namespace

constexpr Algorithm all_gather_ring{"ring",
                                    Collective::all_gather,
                                    "every part goes once around the ring: least bytes, N-1 steps",
                                    supports_everything,
                                    chunk_per_rank,
                                    emit,
                                    Growth::share_per_rank};

}  // namespace collsim
