#include "sim/algorithms/all_reduce.h"

namespace collsim {

// What a rank received in one step, the chunk before that which it sent, it adds to and sends on in
// the next. Chunks go round from the rank after the one that they end at.
void ring_reduce_scatter(Group& group) {
  const Rank n = group.size();
  const std::uint32_t one_back = n - 1;
  group.repeat(n - 1, one_back, n, [&] {
    for (Rank rank = 0; rank < n; ++rank) {
      group.reduce(rank, ring_next(rank, n), {ring_prev(rank, n), 1});
    }
  });
}

void ring_all_gather(Group& group) {
  const Rank n = group.size();
  const std::uint32_t one_back = n - 1;
  group.repeat(n - 1, one_back, n, [&] {
    for (Rank rank = 0; rank < n; ++rank) group.copy(rank, ring_next(rank, n), {rank, 1});
  });
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
    emit,
    Growth::share_per_rank};

}  // namespace collsim
