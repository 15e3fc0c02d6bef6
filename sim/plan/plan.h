#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/collective.h"
#include "sim/plan/primitive.h"
#include "sim/plan/program.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// A switch that takes part: it adds up what ranks send it and copies a message to many. Its
/// programs are made of `recv_send` alone, since it has nothing to contribute and keeps no result.
enum class SwitchReducer : std::uint8_t {
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

/// The programs of all participants on one channel. A rank runs one program per lane, concurrently
/// (NCCL's tree reduces up and broadcasts down at the same time); a program runs strictly in order.
/// A program covers one loop: large buffers repeat it, each time on the next piece of the buffer.
class Schedule {
 public:
  Rank ranks() const { return ranks_; }
  /// The switches that take part; agents()[i] is participant ranks() + i.
  std::span<const SwitchReducer> agents() const { return agents_; }
  /// The number of ranks and agents.
  Rank participants() const { return ranks_ + static_cast<Rank>(agents_.size()); }
  bool is_agent(Rank participant) const { return participant >= ranks_; }
  std::uint32_t lanes() const { return lanes_; }
  /// Chunks of one loop. Every chunk of a loop has the same size but for remainders.
  std::uint32_t chunks() const { return chunks_; }
  Program program(Rank participant, std::uint32_t lane) const {
    return {programs_[participant * lanes_ + lane], chunks_};
  }
  std::span<const Connection> connections() const { return connections_; }
  std::span<const ConnectionId> peers(PeerGroupId group) const {
    return std::span(group_members_)
        .subspan(group_begin_[group], group_begin_[group + 1] - group_begin_[group]);
  }
  /// The number of peer groups, the empty one among them.
  PeerGroupId groups() const { return static_cast<PeerGroupId>(group_begin_.size() - 1); }
  std::string_view phase_name(PhaseId phase) const { return phases_[phase]; }
  /// A copy in which that one program is another; its primitives name groups of this schedule.
  Schedule with_program(Rank participant, std::uint32_t lane,
                        const std::vector<Primitive>& primitives) const;

 private:
  friend class ScheduleBuilder;
  friend class ScheduleWriter;
  Rank ranks_ = 0;
  std::vector<SwitchReducer> agents_;
  std::uint32_t lanes_ = 1;
  std::uint32_t chunks_ = 1;
  std::vector<RunList> programs_;  // [participant * lanes + lane]
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

/// Names a participant: "rank 3", or "switch 0" for the first switch agent.
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

/// Whether NVSwitches add up and copy in it.
bool adds_in_nvswitches(const Plan& plan);

}  // namespace collsim
