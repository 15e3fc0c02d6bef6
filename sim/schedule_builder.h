#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sim/plan.h"

namespace collsim {

/// Turns an algorithm, written as a textbook writes it (who sends which chunk to whom, step by
/// step), into every rank's program of primitives.
///
/// Within one step all sends read what the rank held before the step; receives take effect at its
/// end. Lowering fuses, as NCCL does:
///  - a receive with the send of the same chunks that follows it at that rank;
///  - receives of the same chunks, of one rank in one step, into one primitive with several peers;
///  - sends of the same chunks, of one rank in one step, likewise.
/// A send goes into the program (lane) whose receive produced its value, else into the program of
/// its own lane. An algorithm whose send needs a value from another lane and cannot be fused with
/// the receive that made it is wrong (assertion).
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

  Schedule build() &&;

  // (private part by the implementer)
};

/// A view on some ranks and some chunks of a ScheduleBuilder, with numbers of its own from 0: the
/// way algorithms are composed. Rank i of the group is ranks[i]; chunk j is the `chunk_width`
/// chunks from `first_chunk + j * chunk_width`.
class Group {
 public:
  Group(ScheduleBuilder& builder, std::vector<Rank> ranks, std::uint32_t first_chunk = 0,
        std::uint32_t chunk_width = 1);
  Rank size() const { return static_cast<Rank>(ranks_.size()); }
  void phase(std::string_view name);
  void lane(std::uint32_t lane);
  void step();
  void reduce(Rank from, Rank to, ChunkRange chunks);
  void copy(Rank from, Rank to, ChunkRange chunks);
  /// A group inside this one; ranks and chunks are numbers of this group. `single_lane`: the lanes
  /// that the algorithm asks for are ignored, everything stays in the current one (needed where a
  /// later phase uses the result, since lanes of one rank do not wait for each other).
  Group subgroup(std::span<const Rank> ranks, std::uint32_t first_chunk, std::uint32_t chunk_width,
                 bool single_lane) const;

 private:
  ScheduleBuilder* builder_;
  std::vector<Rank> ranks_;
  std::uint32_t first_chunk_;
  std::uint32_t chunk_width_;
  bool single_lane_ = false;
};

}  // namespace collsim
