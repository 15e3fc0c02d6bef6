#include "sim/algorithms/all_reduce.h"

namespace collsim {

namespace {

// Member i of a power of two works on the aligned block of `distance` chunks around chunk i.
ChunkRange block_of(Rank member, Rank distance) {
  return {member & ~(distance - 1), distance};
}

void reduce_scatter(Group& group, const PowerOfTwoFold& fold) {
  group.phase("reduce-scatter");
  for (Rank distance = fold.core / 2; distance > 0; distance /= 2) {
    group.step();
    for (Rank i = 0; i < fold.core; ++i) {
      const Rank partner = i ^ distance;
      group.reduce(fold.rank_of(i), fold.rank_of(partner), block_of(partner, distance));
    }
  }
}

void all_gather(Group& group, const PowerOfTwoFold& fold) {
  group.phase("all-gather");
  for (Rank distance = 1; distance < fold.core; distance *= 2) {
    group.step();
    for (Rank i = 0; i < fold.core; ++i) {
      group.copy(fold.rank_of(i), fold.rank_of(i ^ distance), block_of(i, distance));
    }
  }
}

// Rabenseifner's algorithm; the excess over a power of two is folded in first and served last.
void emit(Group& group, const Placement& placement, const Algorithm* /*inter*/) {
  const PowerOfTwoFold fold = fold_to_power_of_two(placement.ranks());
  const ChunkRange all{0, fold.core};
  group.phase("fold");
  group.step();
  for (Rank i = 0; i < fold.excess; ++i) group.reduce(2 * i + 1, 2 * i, all);
  reduce_scatter(group, fold);
  all_gather(group, fold);
  group.phase("unfold");
  group.step();
  for (Rank i = 0; i < fold.excess; ++i) group.copy(2 * i, 2 * i + 1, all);
}

std::uint32_t chunks(const Placement& placement, const Algorithm* /*inter*/) {
  return fold_to_power_of_two(placement.ranks()).core;
}

}  // namespace

constexpr Algorithm all_reduce_recursive_halving_doubling{
    "recursive_halving_doubling",
    Collective::all_reduce,
    "Rabenseifner: halve and exchange, then double: least bytes and 2 log2 N steps",
    supports_everything,
    chunks,
    emit,
    Growth::half_per_doubling};

}  // namespace collsim
