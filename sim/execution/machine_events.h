#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/execution/wiring.h"

namespace collsim {

/// A resource that gets another capacity at an instant; 0: nothing moves over it.
struct CapacityChange {
  ResourceId resource = 0;
  BytesPerSecond capacity;
};

/// A connection that is moved to another wire at an instant, with its bytes in flight.
struct WireChange {
  std::uint32_t channel = 0;
  std::uint32_t connection = 0;  ///< index in Schedule::connections()
  Wire wire;
  bool moves = true;  ///< it loads other resources than before
  Seconds jitter;     ///< every message arrives later by a random part of this
};

/// What happens to a machine at one instant of a call.
struct MachineChange {
  Seconds at;  ///< since the first call began, its launch included; 0: it was so before
  std::vector<CapacityChange> capacities{};
  std::vector<WireChange> wires{};
};

/// What is wrong with a machine while a plan runs on it, in terms of the plan's Wiring.
struct MachineEvents {
  std::vector<MachineChange> changes{};  ///< by time
  std::vector<Seconds> late{};           ///< by rank, or empty: how long after the others it begins
  /// The speed of each rank's thread blocks when they move data, 1 as it should be; or empty.
  std::vector<double> speed{};
  std::uint64_t seed = 0;  ///< random seed of jitter

  Seconds late_by(Rank rank) const { return rank < late.size() ? late[rank] : Seconds{}; }
  double speed_of(Rank rank) const { return rank < speed.size() ? speed[rank] : 1; }
  bool empty() const { return changes.empty() && late.empty() && speed.empty(); }
};

/// A number from 0 up to 1, the same for the same three and without relation to it for others:
/// what a message is late by, as a part of its jitter, depends only on who sends it, and what a
/// slice loads links with (jitter_factor()) on its place.
double jitter_of(std::uint64_t seed, std::uint64_t flow, std::uint64_t step);

/// A call that never ends, because something that it needs stands still for ever.
class HangError : public std::runtime_error {
 public:
  /// `rank` waits in vain in primitive number `step` (from 0) of its program.
  HangError(std::uint32_t channel, Rank rank, std::uint32_t step, const std::string& text)
      : std::runtime_error(text), channel_(channel), rank_(rank), step_(step) {}
  std::uint32_t channel() const { return channel_; }
  Rank rank() const { return rank_; }
  std::uint32_t step() const { return step_; }

 private:
  std::uint32_t channel_;
  Rank rank_;
  std::uint32_t step_;
};

}  // namespace collsim
