#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/every_pair.h"

namespace collsim {

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("broadcast");
  group.step();
  for (Rank from = 0; from < group.size(); ++from) {
    for (Rank to = 0; to < group.size(); ++to) {
      if (to != from) group.reduce(from, to, {0, 1});
    }
  }
}

}  // namespace

constexpr Algorithm all_reduce_one_shot{
    "one_shot",
    Collective::all_reduce,
    "everybody sends the whole buffer to everybody: 1 step, N(N-1) messages",
    unsupported_by_pairs,
    one_chunk,
    emit,
    Growth::all_per_rank};

}  // namespace collsim
