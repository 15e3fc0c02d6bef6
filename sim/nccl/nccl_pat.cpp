#include <algorithm>
#include <bit>
#include <vector>

#include "sim/nccl/nccl_schedules.h"
#include "sim/plan/schedule_writer.h"

namespace collsim {

namespace {

// Every rank's block has a binomial tree of its own, all of one shape: at offset o from its root,
// the parent is o without its lowest bit. A rank is at every offset of some block's tree, and one
// order of offsets suits all ranks.

Rank lowest_bit(Rank offset) {
  return offset & (~offset + 1);
}

/// Distances to the children of an offset.
std::vector<Rank> child_distances(Rank offset, Rank ranks) {
  std::vector<Rank> distances;
  const Rank end = offset == 0 ? ranks : lowest_bit(offset);
  for (Rank distance = 1; distance < end; distance *= 2) {
    if (offset + distance < ranks) distances.push_back(distance);
  }
  return distances;
}

/// From root to leaves: the tree is cut into subtrees of equal size, `at_once` of them, which
/// advance together; first their roots, then offset by offset within them.
std::vector<Rank> offsets_downwards(Rank ranks, Rank at_once) {
  const Rank subtree = std::bit_ceil(ranks) / at_once;
  std::vector<Rank> offsets;
  for (Rank within = 0; within < subtree; ++within) {
    for (Rank root = 0; root < std::bit_ceil(ranks); root += subtree) {
      if (root + within < ranks) offsets.push_back(root + within);
    }
  }
  return offsets;
}

/// One rank's place in the trees.
class PatProgram {
 public:
  PatProgram(ScheduleWriter& writer, Rank ranks, Rank rank, bool in_place)
      : writer_(writer), ranks_(ranks), rank_(rank), in_place_(in_place) {}

  void all_gather(Rank offset) {
    std::vector<Connection> children;
    for (const Rank distance : child_distances(offset, ranks_)) {
      children.push_back({rank_, (rank_ + distance) % ranks_, 0});
    }
    if (offset == 0) {
      append(in_place_ ? PrimitiveKind::send : PrimitiveKind::copy_send, offset, 0,
             writer_.group(children));
      return;
    }
    const Rank parent = (rank_ + ranks_ - lowest_bit(offset)) % ranks_;
    append(children.empty() ? PrimitiveKind::recv : PrimitiveKind::recv_copy_send, offset,
           writer_.group({parent, rank_, 0}), writer_.group(children));
  }

  void reduce_scatter(Rank offset) {
    std::vector<Connection> children;
    for (const Rank distance : child_distances(offset, ranks_)) {
      children.push_back({(rank_ + distance) % ranks_, rank_, 0});
    }
    if (offset == 0) {
      append(PrimitiveKind::recv_reduce_copy, offset, writer_.group(children), 0);
      return;
    }
    const Rank parent = (rank_ + ranks_ - lowest_bit(offset)) % ranks_;
    append(children.empty() ? PrimitiveKind::send : PrimitiveKind::recv_reduce_send, offset,
           writer_.group(children), writer_.group({rank_, parent, 0}));
  }

 private:
  /// On the block in whose tree the rank is at `offset`.
  void append(PrimitiveKind kind, Rank offset, PeerGroupId from, PeerGroupId to) {
    writer_.append(rank_, 0, kind, {(rank_ + ranks_ - offset) % ranks_, 1}, from, to);
  }

  ScheduleWriter& writer_;
  Rank ranks_;
  Rank rank_;
  bool in_place_;
};

}  // namespace

Rank nccl_pat_aggregation(Rank ranks) {
  constexpr Rank steps_per_buffer = 8;
  return std::min(steps_per_buffer, std::bit_ceil(ranks / 2));
}

Schedule nccl_pat_schedule(Collective collective, Rank ranks, bool in_place) {
  ScheduleWriter writer(ranks, 1, ranks);
  if (ranks == 1) return std::move(writer).build();
  const bool gathers = collective == Collective::all_gather;
  auto offsets = offsets_downwards(ranks, nccl_pat_aggregation(ranks));
  if (!gathers) std::reverse(offsets.begin(), offsets.end());
  writer.phase(gathers ? "all-gather" : "reduce-scatter");
  for (Rank rank = 0; rank < ranks; ++rank) {
    PatProgram program(writer, ranks, rank, in_place);
    for (const Rank offset : offsets) {
      if (gathers) {
        program.all_gather(offset);
      } else {
        program.reduce_scatter(offset);
      }
    }
  }
  return std::move(writer).build();
}

}  // namespace collsim
