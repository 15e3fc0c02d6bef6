#include <algorithm>
#include <cassert>

#include "sim/nccl/nccl_schedules.h"
#include "sim/plan/schedule_writer.h"

namespace collsim {

namespace {

/// One rank's place in a ring, and the end of its program.
class RingProgram {
 public:
  RingProgram(ScheduleWriter& writer, std::span<const Rank> ring, Rank position)
      : writer_(&writer), ring_(ring), position_(position) {
    const Rank n = size();
    from_ = writer.group({ring[ring_prev(position, n)], ring[position], 0});
    to_ = writer.group({ring[position], ring[ring_next(position, n)], 0});
  }

  Rank size() const { return static_cast<Rank>(ring_.size()); }
  Rank rank() const { return ring_[position_]; }
  /// The position that is `distance` <= N before this one in the ring.
  Rank back(Rank distance) const { return ring_back(position_, distance, size()); }
  Rank rank_back(Rank distance) const { return ring_[back(distance)]; }

  void append(PrimitiveKind kind, std::uint32_t chunk) { append(kind, chunk, {}); }
  /// The same for so many chunks, one after the other, each the one before the last.
  void append_back(PrimitiveKind kind, std::uint32_t chunk, std::uint32_t count) {
    if (count > 0) append(kind, chunk, {count, size() - 1});
  }
  void phase(std::string_view name) { writer_->phase(name); }

 private:
  void append(PrimitiveKind kind, std::uint32_t chunk, const ScheduleWriter::Repeats& repeats) {
    writer_->append(rank(), 0, kind, {chunk, 1}, receives(kind) ? from_ : 0, sends(kind) ? to_ : 0,
                    repeats);
  }

  ScheduleWriter* writer_;
  std::span<const Rank> ring_;
  Rank position_;
  PeerGroupId from_;
  PeerGroupId to_;
};

// Chunk c begins at the position after c and is complete when it has come round to c.
void all_reduce(RingProgram& program) {
  const Rank n = program.size();
  program.phase("reduce-scatter");
  program.append(PrimitiveKind::send, program.back(1));
  program.append_back(PrimitiveKind::recv_reduce_send, program.back(2), n - 2);
  program.phase("all-gather");
  program.append(PrimitiveKind::recv_reduce_copy_send, program.back(0));
  program.append_back(PrimitiveKind::recv_copy_send, program.back(1), n - 2);
  program.append(PrimitiveKind::recv, program.back(n - 1));
}

/// How a rank sends its own block.
PrimitiveKind first_send(bool in_place) {
  return in_place ? PrimitiveKind::send : PrimitiveKind::copy_send;
}

void all_gather(RingProgram& program, bool in_place) {
  const Rank n = program.size();
  program.phase("all-gather");
  program.append(first_send(in_place), program.rank());
  for (Rank s = 1; s + 1 < n; ++s) {
    program.append(PrimitiveKind::recv_copy_send, program.rank_back(s));
  }
  program.append(PrimitiveKind::recv, program.rank_back(n - 1));
}

void reduce_scatter(RingProgram& program) {
  const Rank n = program.size();
  program.phase("reduce-scatter");
  program.append(PrimitiveKind::send, program.rank_back(1));
  for (Rank s = 2; s < n; ++s) {
    program.append(PrimitiveKind::recv_reduce_send, program.rank_back(s));
  }
  program.append(PrimitiveKind::recv_reduce_copy, program.rank());
}

// A pipeline that ends before it comes round to the root again.
void broadcast(RingProgram& program, Rank root, bool in_place) {
  program.phase("broadcast");
  if (program.rank() == root) {
    program.append(first_send(in_place), 0);
  } else if (program.rank_back(program.size() - 1) == root) {
    program.append(PrimitiveKind::recv, 0);
  } else {
    program.append(PrimitiveKind::recv_copy_send, 0);
  }
}

// A pipeline from the rank after the root to the root.
void reduce(RingProgram& program, Rank root) {
  program.phase("reduce");
  if (program.rank_back(1) == root) {
    program.append(PrimitiveKind::send, 0);
  } else if (program.rank() == root) {
    program.append(PrimitiveKind::recv_reduce_copy, 0);
  } else {
    program.append(PrimitiveKind::recv_reduce_send, 0);
  }
}

bool is_cut_by_rank(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::all_gather ||
         collective == Collective::reduce_scatter;
}

}  // namespace

Schedule nccl_ring_schedule(Collective collective, std::span<const Rank> ring, Rank root,
                            bool in_place) {
  const auto ranks = static_cast<Rank>(ring.size());
  ScheduleWriter writer(ranks, 1, is_cut_by_rank(collective) ? ranks : 1);
  for (Rank position = 0; ranks > 1 && position < ranks; ++position) {
    RingProgram program(writer, ring, position);
    switch (collective) {
      case Collective::all_reduce:
        all_reduce(program);
        break;
      case Collective::all_gather:
        all_gather(program, in_place);
        break;
      case Collective::reduce_scatter:
        reduce_scatter(program);
        break;
      case Collective::broadcast:
        broadcast(program, root, in_place);
        break;
      case Collective::reduce:
        reduce(program, root);
        break;
      default:
        assert(false && "NCCL has no ring for this");
    }
  }
  return std::move(writer).build();
}

}  // namespace collsim
