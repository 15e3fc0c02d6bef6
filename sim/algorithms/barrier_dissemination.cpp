#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

namespace {

// Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization", 1988. After step k a
// rank knows of the 2^(k+1) - 1 ranks before it; where N is no power of two it hears of some twice.
void emit(Group& group, const Placement& /*placement*/, const Algorithm* /*inter*/) {
  const Rank n = group.size();
  group.phase("tell");
  for (Rank distance = 1; distance < n; distance *= 2) {
    group.step();
    for (Rank rank = 0; rank < n; ++rank) group.reduce(rank, (rank + distance) % n, {0, 1});
  }
}

}  // namespace

constexpr Algorithm barrier_dissemination{
    "dissemination",
    Collective::barrier,
    "everybody tells the ranks 1, 2, 4, ... after it: log2 N steps",
    supports_everything,
    one_chunk,
    emit,
    Growth::all_per_doubling};

}  // namespace collsim
