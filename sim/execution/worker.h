#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "sim/cost/slice_cost.h"
#include "sim/execution/data_partition.h"
#include "sim/execution/event_tags.h"
#include "sim/execution/timeline.h"
#include "sim/plan/plan.h"

namespace collsim {

/// A participant's program on one channel and lane, and how far it is.
struct Worker {
  enum class State : std::uint8_t { waiting, preparing, busy, finished };
  static constexpr Seconds never{-1};

  Program program;
  Program::Iterator at;  ///< the primitive that it is at
  const Schedule* schedule = nullptr;
  LaneSetting setting;           ///< what its slices cost
  FifoId first_fifo = 0;         ///< first FIFO of its channel
  std::uint32_t first_list = 0;  ///< CallLayout::fifos_of()
  std::uint32_t copies = 1;      ///< equal workers for which it stands, itself among them
  std::uint32_t channel = 0;
  Rank rank = 0;  ///< or the agent
  std::uint32_t lane = 0;
  std::uint32_t loops = 0;
  std::uint32_t loop = 0;
  std::uint32_t primitive = 0;  ///< number of the one that it is at
  std::uint32_t slice = 0;
  std::uint32_t piece = 0;            ///< number of the piece that it is at
  std::uint32_t pieces = 1;           ///< pieces of the slice
  std::int64_t slice_bytes = 0;       ///< data of the slice that it is at,
  std::int64_t piece_bytes = 0;       ///< and of every piece of it but the last
  BytesPerSecond shared = unlimited;  ///< what the lanes of its thread block send in all
  BytesPerSecond part = unlimited;    ///< what of that is its own while all of them are busy
  double demand = 0;  ///< what it could put on links, in bytes per second, while it sends
  double share = 1;   ///< of what is full, beside a lane like others of its thread block
  WorkerId other_lane = no_worker;  ///< a tree's, in the same thread block
  bool is_agent = false;            ///< whether `rank` is one
  bool contends = false;            ///< whether it and others slow each other down on links
  Seconds ready_since = never;      ///< when nothing but messages kept it from beginning
  RouteId store_route = 0;          ///< route of the bytes that it stores
  std::uint32_t flows = 0;
  State state = State::finished;  ///< until its rank launches it
  RecordId record = no_record;

  /// Makes the worker run this program from now on, from the first primitive.
  void begin_program(const Program& whole) {
    program = whole;
    at = whole.begin();
    primitive = 0;
  }
  /// Leaves out that many primitives of the program from here on.
  void skip(std::uint32_t primitives) {
    for (std::uint32_t i = 0; i < primitives; ++i) ++at;
    primitive += primitives;
  }
  /// What it is at; holds until it goes on.
  const Primitive& current() const { return *at; }
  std::span<const ConnectionId> peers(PeerGroupId group) const { return schedule->peers(group); }
  const ProtocolConstants& cost() const { return *setting.cost; }
  bool ends_slice() const { return piece + 1 == pieces; }
  /// Primitives of the call that lie behind it.
  double steps_done() const {
    return static_cast<double>(loop) * static_cast<double>(program.size()) + primitive;
  }
  /// Data of the piece that it is at.
  std::int64_t bytes_of_piece() const {
    return std::min(slice_bytes - piece_bytes * piece, piece_bytes);
  }
};

/// Sizes of the slice that the worker comes to.
void begin_slice(Worker& worker, const DataPartition& partition);

/// Moves the worker on to the next piece, slice, primitive, loop; after the last of all to the
/// first again. Returns whether all loops are over.
bool advance(Worker& worker, const DataPartition& partition);

/// How many times as long the slice that the worker is at takes as others: 1, give or take `jitter`
/// by chance for the slice's place in its loop and as much for its channel. It gets so much less of
/// what it shares, and so much less where nothing is shared. Links carry its bytes, no more and no
/// fewer. Channels are told apart, which was measured (recordings/h200x2/thread-blocks.csv); ranks,
/// lanes and loops are not: equals can be folded (symmetry_of()), and loops repeat.
double jitter_factor(const Worker& worker, double jitter);

/// What a timeline says of the slice that the worker is at, times and causes aside.
TimelineRecord record_of(const Worker& worker);

}  // namespace collsim
