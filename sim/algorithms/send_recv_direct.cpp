#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  const Rank n = group.size();
  group.phase("send");
  group.step();
  for (Rank rank = 0; n > 1 && rank < n; ++rank) group.copy(rank, ring_next(rank, n), {rank, 1});
}

}  // namespace

constexpr Algorithm send_recv_direct{"direct",
                                     Collective::send_recv,
                                     "every rank sends to the next one: 1 step",
                                     supports_everything,
                                     chunk_per_rank,
                                     emit,
                                     Growth::all_per_rank};

}  // namespace collsim
