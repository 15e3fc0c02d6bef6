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
/// an arrival, a rank's next launch, a change of the machine, that all who begin to send at an
/// instant have joined their links, or that a sender's proxy hears of room at the receiver.
enum class TimerKind : std::uint8_t { before, after, arrival, launch, change, joined, room };

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

/// Whose flow it is: a worker's; or one of a FIFO's proxy, for the thread that puts a message into
/// its socket, for what carries one over the network, or for the thread that takes one from its
/// socket.
enum class FlowKind : std::uint8_t { worker, dispatch, message, receipt };

/// The tag of a flow; its kind stands in the lowest bits.
constexpr EventTag flow_tag(std::uint32_t id, FlowKind kind) {
  return (id << 2) | static_cast<EventTag>(kind);
}
constexpr FlowKind kind_of_flow(EventTag tag) {
  return static_cast<FlowKind>(tag & 3);
}
constexpr std::uint32_t id_of_flow(EventTag tag) {
  return tag >> 2;
}

}  // namespace collsim
