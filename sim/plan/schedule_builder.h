#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/plan/plan.h"

namespace collsim {

/// Chunks that go round: each of the `of` pieces of `width` chunks from `first` becomes the one
/// that lies `by` pieces after it, and after the last comes the first.
struct ChunkTurn {
  std::uint32_t by = 0;
  std::uint32_t of = 1;
  std::uint32_t first = 0;
  std::uint32_t width = 1;

  /// The chunks turned `times` times.
  ChunkRange turned(ChunkRange chunks, std::uint32_t times) const {
    const std::uint64_t on = std::uint64_t{times} * by * width;
    const std::uint32_t span = of * width;
    return {first + static_cast<std::uint32_t>((chunks.first - first + on) % span), chunks.count};
  }
};

/// Turns an algorithm, written as a textbook writes it (who sends which chunk to whom, step by
/// step), into every rank's program of primitives.
///
/// Within one step all sends read what the rank held before the step; receives take effect at its
/// end. Lowering fuses, as NCCL does:
///  - a receive with the send of the same chunks that follows it at that rank;
///  - consecutive reductions of the same chunks, to one rank in one step, into one primitive with
///    several peers;
///  - consecutive sends of the same chunks, of one rank in one step, likewise.
/// A send goes into the program (lane) whose receive produced its value, else into the program of
/// its own lane. An algorithm whose send needs values of several lanes is wrong (assertion), and so
/// is one that uses a connection from several lanes of a rank, whose order would be open.
///
/// A plan in which steps follow each other as emitted cannot deadlock, whatever the credits: every
/// primitive only waits for earlier steps, and a send that is fused with a receive moves ahead of
/// other primitives only where its connection has been idle since before that receive's step.
///
/// Works step by step: beyond the programs it holds only the transfers of the current step.
class ScheduleBuilder {
 public:
  /// `chunks`: how many chunks one loop of the buffer is cut into.
  ScheduleBuilder(Rank ranks, std::uint32_t chunks);

  /// Name what follows ("reduce-scatter"); used by teaching views.
  void phase(std::string_view name);
  /// Transfers that follow use this lane, 0 to begin with.
  void lane(std::uint32_t lane);
  /// Begin a new step: what earlier steps received can be sent from here on.
  void step();
  /// `from` sends the chunks, `to` adds them to what it holds.
  void reduce(Rank from, Rank to, ChunkRange chunks);
  /// `from` sends the chunks, `to` replaces what it holds.
  void copy(Rank from, Rank to, ChunkRange chunks);
  /// Makes `times` steps that differ in their chunks only. `transfers` emits the transfers of one;
  /// each further step turns their chunks once more. The last step stays open. A step whose senders
  /// all receive goes on as it began: however many of them are made at once.
  void repeat(std::uint32_t times, const ChunkTurn& turn, const std::function<void()>& transfers);

  Schedule build() &&;

 private:
  struct Transfer {
    Rank from;
    Rank to;
    ChunkRange chunks;
    ConnectionId connection;
    std::uint8_t lane;
    PhaseId phase;
    bool reduce;
  };
  /// A program under construction. The receives of its latest receiving step, `open_step`, are
  /// among the primitives [open_begin, open_end) of its end: those a send can still be fused with.
  /// Before them stands what the receiving step before has left.
  struct ProgramEnd {
    RunList front;
    std::vector<Primitive> back;
    std::uint32_t open_begin = 0;
    std::uint32_t open_end = 0;
    std::uint32_t open_step = 0;

    Primitive& append(ChunkRange chunks);
    void open(std::uint32_t step, std::uint32_t chunks);
    void repeat(std::uint32_t times, const ChunkTurn& turn, std::uint32_t chunks);
    void close(std::uint32_t chunks);
    std::span<const Primitive> open_receives() const {
      return std::span(back).subspan(open_begin, open_end - open_begin);
    }
  };
  struct ConnectionUse {
    std::uint32_t last_send_step = 0;
    PeerGroupId own_group = 0;  // the group of this connection alone; 0: none yet
    std::uint8_t send_lane = no_lane;
  };
  /// Lists of the current step's transfers by rank, in order of emission.
  class TransfersByRank {
   public:
    explicit TransfersByRank(Rank ranks) : first_(ranks), last_(ranks) {}
    void clear();
    void append(Rank rank, std::uint32_t transfer);
    std::span<const Rank> ranks() const { return touched_; }
    bool has(Rank rank) const { return first_[rank] != 0; }
    std::uint32_t first(Rank rank) const { return first_[rank] - 1; }
    std::uint32_t next(std::uint32_t transfer) const { return next_[transfer] - 1; }

   private:
    std::vector<std::uint32_t> first_;  // [rank], 1 + transfer; 0: none
    std::vector<std::uint32_t> last_;
    std::vector<std::uint32_t> next_;  // [transfer]
    std::vector<Rank> touched_;
  };
  static constexpr std::uint8_t no_lane = 0xff;
  static constexpr std::uint32_t end_of_list = 0xffffffff;

  void add(Rank from, Rank to, ChunkRange chunks, bool reduce);
  void end_step();
  bool every_sender_receives();
  void repeat_last_step(std::uint32_t times, const ChunkTurn& turn);
  void lower_sends(Rank rank);
  void lower_receives(Rank rank);
  void append_receive(Rank rank, const Transfer& transfer);
  void place_send(Rank rank, std::uint8_t lane, const Transfer& transfer);
  Primitive* find_receive_to_fuse(ProgramEnd& program, ChunkRange chunks);
  bool members_idle_since(std::uint32_t step) const;
  void mark_sent(std::uint8_t lane);
  std::uint8_t lane_of_send(const Transfer& transfer) const;
  void track_producers();
  void set_producer(Rank rank, ChunkRange chunks, std::uint8_t lane);
  ConnectionId connection(Rank from, Rank to);
  PeerGroupId group_of_members();
  PeerGroupId append_group(std::span<const ConnectionId> members);

  Schedule schedule_;
  std::uint8_t lane_ = 0;
  PhaseId phase_ = 0;
  ChunkTurn turn_;
  std::uint32_t turns_ = 0;  // that chunks get as they are emitted
  std::uint32_t step_ = 1;
  std::vector<Transfer> transfers_;  // of the current step
  TransfersByRank by_rank_;
  std::vector<ConnectionId> members_;              // of the primitive being made
  std::vector<std::vector<ProgramEnd>> programs_;  // [lane][rank]
  std::vector<std::uint8_t> producer_;  // [rank * chunks + chunk]: lane that last wrote it;
                                        // empty while there is only one lane
  std::vector<ConnectionUse> uses_;     // [connection]
  std::vector<ConnectionId> recent_;    // [rank]: its latest connection as a sender
  std::unordered_map<std::uint64_t, ConnectionId> connection_ids_;
  std::unordered_multimap<std::uint64_t, PeerGroupId> groups_by_hash_;
};

/// A view on some ranks and some chunks of a ScheduleBuilder, with numbers of its own from 0: the
/// way algorithms are composed. Rank i of the group is ranks[i]; chunk j is the `chunk_width`
/// chunks from `first_chunk + j * chunk_width`.
class Group {
 public:
  Group(ScheduleBuilder& builder, std::vector<Rank> ranks, std::uint32_t first_chunk = 0,
        std::uint32_t chunk_width = 1);
  Rank size() const { return static_cast<Rank>(ranks_.size()); }
  /// The root of a collective that has one, in the group's numbers.
  Rank root() const { return root_; }
  void set_root(Rank root) { root_ = root; }
  void phase(std::string_view name);
  void lane(std::uint32_t lane);
  void step();
  void reduce(Rank from, Rank to, ChunkRange chunks);
  void copy(Rank from, Rank to, ChunkRange chunks);
  /// ScheduleBuilder::repeat(): with every step the chunks are those that lie `by` after the last
  /// step's, of the group's first `of`, round.
  void repeat(std::uint32_t times, std::uint32_t by, std::uint32_t of,
              const std::function<void()>& transfers);
  /// A group inside this one; ranks and chunks are numbers of this group. `single_lane`: the lanes
  /// that the algorithm asks for are ignored, everything stays in the current one (needed where a
  /// later phase uses the result, since lanes of one rank do not wait for each other).
  /// `phase_prefix` is put before the names of its phases.
  Group subgroup(std::span<const Rank> ranks, std::uint32_t first_chunk, std::uint32_t chunk_width,
                 bool single_lane, std::string_view phase_prefix = {}) const;

 private:
  ChunkRange outer(ChunkRange chunks) const;

  ScheduleBuilder* builder_;
  std::vector<Rank> ranks_;
  std::uint32_t first_chunk_;
  std::uint32_t chunk_width_;
  Rank root_ = 0;
  bool single_lane_ = false;
  std::string phase_prefix_;
};

}  // namespace collsim
