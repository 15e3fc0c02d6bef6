#include "sim/algorithms/all_reduce.h"

namespace collsim {

namespace {

constexpr Rank server = 0;

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("push");
  group.step();
  for (Rank worker = 1; worker < group.size(); ++worker) group.reduce(worker, server, {0, 1});
  group.phase("pull");
  group.step();
  for (Rank worker = 1; worker < group.size(); ++worker) group.copy(server, worker, {0, 1});
}

}  // namespace

constexpr Algorithm all_reduce_parameter_server{
    "parameter_server",
    Collective::all_reduce,
    "all send to rank 0, which sums and sends back: 2 steps, one bottleneck",
    supports_everything,
    one_chunk,
    emit,
    Growth::all_per_rank};

}  // namespace collsim
