#include "sim/algorithms/all_reduce.h"

namespace collsim {

// Step s: what a rank received in step s - 1 it adds to and sends on. Chunks go round from the rank
// after the one that they end at.
void ring_reduce_scatter(Group& group) {
  const Rank n = group.size();
  for (Rank s = 0; s + 1 < n; ++s) {
    group.step();
    for (Rank rank = 0; rank < n; ++rank) {
      group.reduce(rank, ring_next(rank, n), {ring_back(rank, s + 1, n), 1});
    }
  }
}

void ring_all_gather(Group& group) {
  const Rank n = group.size();
  for (Rank s = 0; s + 1 < n; ++s) {
    group.step();
    for (Rank rank = 0; rank < n; ++rank) {
      group.copy(rank, ring_next(rank, n), {ring_back(rank, s, n), 1});
    }
  }
}

namespace {

void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  group.phase("reduce-scatter");
  ring_reduce_scatter(group);
  group.phase("all-gather");
  ring_all_gather(group);
}

}  // namespace

constexpr Algorithm all_reduce_ring{
    "ring",
    Collective::all_reduce,
    "reduce-scatter, then all-gather, around one ring: least bytes, 2(N-1) steps",
    supports_everything,
    chunk_per_rank,
    emit};

}  // namespace collsim
