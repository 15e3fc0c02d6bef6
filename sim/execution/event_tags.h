#pragma once

#include <cstdint>

#include "sim/fabric/fabric.h"

namespace collsim {

/// The number of a Worker of a call.
using WorkerId = std::uint32_t;
/// A connection of one channel; numbers run through all channels.
using FifoId = std::uint32_t;

inline constexpr WorkerId no_worker = ~WorkerId{0};
inline constexpr FifoId no_fifo = ~FifoId{0};

/// What a timer of the executor stands for: a worker's serial cost before its bytes move or after,
/// an arrival, a proxy's serial cost, a rank's next launch, a change of the machine, or that all
/// who begin to send at an instant have joined their links.
enum class TimerKind : std::uint8_t { before, after, arrival, proxy, launch, change, joined };

/// The tag of a timer; its kind stands in the lowest bits.
constexpr EventTag timer_tag(std::uint32_t id, TimerKind kind) {
  return (id << 3) | static_cast<EventTag>(kind);
}
constexpr TimerKind kind_of_timer(EventTag tag) {
  return static_cast<TimerKind>(tag & 7);
}
constexpr std::uint32_t id_of_timer(EventTag tag) {
  return tag >> 3;
}

/// The tag of a flow: a worker's, or a proxy's for a FIFO. Its kind stands in the lowest bit.
constexpr EventTag worker_flow(WorkerId worker) {
  return worker << 1;
}
constexpr EventTag proxy_flow(FifoId fifo) {
  return (fifo << 1) | 1;
}
constexpr bool is_proxy_flow(EventTag tag) {
  return (tag & 1) != 0;
}
constexpr std::uint32_t id_of_flow(EventTag tag) {
  return tag >> 1;
}

}  // namespace collsim
