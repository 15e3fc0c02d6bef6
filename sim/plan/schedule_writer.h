#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/plan/plan.h"

namespace collsim {

/// Makes a Schedule primitive by primitive, where the programs are given and not derived (NCCL's
/// kernels are such programs). The counterpart of ScheduleBuilder, which lowers a textbook's steps.
class ScheduleWriter {
 public:
  ScheduleWriter(Rank ranks, std::uint32_t lanes, std::uint32_t chunks,
                 std::vector<SwitchReducer> agents = {});

  /// Names the phase that follows ("reduce").
  void phase(std::string_view name);
  /// The group of these connections; equal lists are one group, the empty list is group 0.
  PeerGroupId group(std::span<const Connection> members);
  PeerGroupId group(const Connection& member) { return group(std::span(&member, 1)); }
  /// Put a primitive at the end of a program. Group 0 where its kind does not receive or send. An
  /// agent's are recv_send.
  void append(Rank participant, std::uint32_t lane, PrimitiveKind kind, ChunkRange chunks,
              PeerGroupId receive_group, PeerGroupId send_group) {
    append(participant, lane, kind, chunks, receive_group, send_group, {});
  }
  /// How one primitive is repeated: `count` times in all, the chunks each time moved on by `stride`
  /// modulo the schedule's.
  struct Repeats {
    std::uint32_t count = 1;
    std::uint32_t chunk_stride = 0;
  };
  /// Appends a primitive and its repetitions.
  void append(Rank participant, std::uint32_t lane, PrimitiveKind kind, ChunkRange chunks,
              PeerGroupId receive_group, PeerGroupId send_group, const Repeats& repeats);

  Schedule build() &&;

 private:
  ConnectionId connection(const Connection& wanted);

  Schedule schedule_;
  PhaseId phase_ = 0;
  std::map<std::tuple<Rank, Rank, std::uint32_t>, ConnectionId> connection_ids_;
  std::map<std::vector<ConnectionId>, PeerGroupId> group_ids_;
};

}  // namespace collsim
