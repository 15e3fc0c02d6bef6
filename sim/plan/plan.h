#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/collective.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// `count` consecutive chunks from `first`. A collective's buffer is cut into Schedule::chunks()
/// chunks; how many bytes each has is bound late, by Binding.
struct ChunkRange {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  constexpr bool operator==(const ChunkRange&) const = default;
};

/// What one primitive does, in NCCL's words: receive, reduce with the own buffer, copy into the own
/// buffer, send on, in this order. `recv_send` leaves the own buffer out: it adds up what came,
/// which may be one message, and sends that on.
enum class PrimitiveKind : std::uint8_t {
  send,
  copy_send,
  recv,
  recv_copy_send,
  recv_reduce_send,
  recv_reduce_copy,
  recv_reduce_copy_send,
  recv_send,
};

constexpr bool receives(PrimitiveKind kind) {
  return kind != PrimitiveKind::send && kind != PrimitiveKind::copy_send;
}
constexpr bool sends(PrimitiveKind kind) {
  return kind != PrimitiveKind::recv && kind != PrimitiveKind::recv_reduce_copy;
}
/// Whether what comes is added up. Of a `recv_send` it need not be more than one message.
constexpr bool reduces(PrimitiveKind kind) {
  return kind == PrimitiveKind::recv_reduce_send || kind == PrimitiveKind::recv_reduce_copy ||
         kind == PrimitiveKind::recv_reduce_copy_send || kind == PrimitiveKind::recv_send;
}
/// Whether it reads the rank's own buffer.
constexpr bool reads_own(PrimitiveKind kind) {
  return kind == PrimitiveKind::send || kind == PrimitiveKind::copy_send ||
         (reduces(kind) && kind != PrimitiveKind::recv_send);
}
/// Whether the result stays in the own buffer (a bare `recv` stores what came).
constexpr bool stores(PrimitiveKind kind) {
  return kind != PrimitiveKind::send && kind != PrimitiveKind::recv_reduce_send &&
         kind != PrimitiveKind::recv_send;
}
std::string_view to_string(PrimitiveKind kind);

/// A switch that takes part: it adds up what ranks send it and copies a message to many. Its
/// programs are made of `recv_send` alone, since it has nothing to contribute and keeps no result.
enum class SwitchAgent : std::uint8_t {
  nvswitch,  ///< of the node whose ranks it talks to: multimem loads and stores of NVLink SHARP
  network,   ///< the switches that join the ranks it talks to: SHARP of InfiniBand
};

/// A FIFO from one participant to another: the k-th send on it meets the k-th receive. A sender may
/// be a bounded number of messages (the credits) ahead of its receiver. Participants are the ranks
/// 0 to N-1 and, numbered from N on, the switch agents.
struct Connection {
  Rank src = 0;
  Rank dst = 0;
  std::uint32_t lane = 0;  ///< two lanes of one rank pair are separate FIFOs
  constexpr bool operator==(const Connection&) const = default;
};
using ConnectionId = std::uint32_t;
/// A list of connections that one primitive uses together (a tree's children); 0 is the empty one.
using PeerGroupId = std::uint32_t;
using PhaseId = std::uint8_t;

/// One instruction of a rank's program: wait for one message on every connection of
/// `receive_group`, combine, send one message on every connection of `send_group`. A primitive that
/// stores its result gives the received messages' credits back before it sends; one that does not,
/// after. `phase` is that of its sends, if it has any, else that of its receives. 16 bytes, since a
/// 1,024-rank ring has two million of them.
struct Primitive {
  std::uint32_t first_chunk = 0;
  std::uint32_t chunk_count = 1;
  std::uint32_t receive_group : 24 = 0;
  PrimitiveKind kind : 8 = PrimitiveKind::send;
  std::uint32_t send_group : 24 = 0;
  std::uint32_t phase : 8 = 0;

  constexpr ChunkRange chunks() const { return {first_chunk, chunk_count}; }
};
static_assert(sizeof(Primitive) == 16);

/// The programs of all participants on one channel. A rank runs one program per lane, concurrently
/// (NCCL's tree reduces up and broadcasts down at the same time); a program runs strictly in order.
/// A program covers one loop: large buffers repeat it, each time on the next piece of the buffer.
class Schedule {
 public:
  Rank ranks() const { return ranks_; }
  /// The switches that take part; agents()[i] is participant ranks() + i.
  std::span<const SwitchAgent> agents() const { return agents_; }
  /// Ranks and agents.
  Rank participants() const { return ranks_ + static_cast<Rank>(agents_.size()); }
  bool is_agent(Rank participant) const { return participant >= ranks_; }
  std::uint32_t lanes() const { return lanes_; }
  /// Chunks of one loop. Every chunk of a loop has the same size but for remainders.
  std::uint32_t chunks() const { return chunks_; }
  std::span<const Primitive> program(Rank participant, std::uint32_t lane) const {
    return programs_[participant * lanes_ + lane];
  }
  std::span<const Connection> connections() const { return connections_; }
  std::span<const ConnectionId> peers(PeerGroupId group) const {
    return std::span(group_members_)
        .subspan(group_begin_[group], group_begin_[group + 1] - group_begin_[group]);
  }
  std::string_view phase_name(PhaseId phase) const { return phases_[phase]; }
  /// A copy in which that one program is another; its primitives name groups of this schedule.
  Schedule with_program(Rank participant, std::uint32_t lane,
                        std::vector<Primitive> primitives) const;

 private:
  friend class ScheduleBuilder;
  friend class ScheduleWriter;
  Rank ranks_ = 0;
  std::vector<SwitchAgent> agents_;
  std::uint32_t lanes_ = 1;
  std::uint32_t chunks_ = 1;
  std::vector<std::vector<Primitive>> programs_;  // [participant * lanes + lane]
  std::vector<Connection> connections_;
  std::vector<ConnectionId> group_members_;
  std::vector<std::uint32_t> group_begin_;  // groups + 1; group 0 is empty
  std::vector<std::string> phases_;
};

/// Calls visit(participant, lane, program) for every program, participant by participant.
template <typename Visit>
void for_each_program(const Schedule& schedule, const Visit& visit) {
  for (Rank participant = 0; participant < schedule.participants(); ++participant) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      visit(participant, lane, schedule.program(participant, lane));
    }
  }
}

/// "rank 3"; "switch 0" for the first agent.
std::string participant_name(const Schedule& schedule, Rank participant);

/// What every rank does, on every channel: the one type between algorithms on one side and checker,
/// executor, model and reports on the other. Dependencies are never written: they follow from
/// program order, FIFO matching and credits. Channels with equal programs share one schedule.
struct Plan {
  Collective collective = Collective::all_reduce;
  std::string algorithm;
  Rank root = 0;  ///< for collectives that have one
  /// False: every channel has all chunks of its own piece of the buffer. True: the chunks are those
  /// of the whole call, and every one belongs to one channel (NCCL's sends and receives).
  bool channels_divide_chunks = false;
  /// Whether its primitives are made for several peers, as NCCL's trees are.
  bool several_peers = false;
  /// Messages that its FIFOs must hold, or it waits for itself.
  std::uint32_t min_credits = 1;
  std::vector<Schedule> schedules;
  std::vector<std::uint32_t> schedule_of_channel;

  Rank ranks() const { return schedules.front().ranks(); }
  std::uint32_t channels() const { return static_cast<std::uint32_t>(schedule_of_channel.size()); }
  const Schedule& schedule(std::uint32_t channel) const {
    return schedules[schedule_of_channel[channel]];
  }
};

}  // namespace collsim
