#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/plan/steps.h"
#include "tools/collsim/trace/call_trace.h"

namespace collsim {

/// A slice of a message as it went in a simulated call, and which step of the plan it is of.
struct StepMessage {
  std::uint32_t step = 1;
  std::uint32_t loop = 0;
  std::uint32_t slice = 0;
  ConnectionId connection = 0;
  Rank from = 0;
  Rank to = 0;
  ChunkRange chunks;
  bool reduce = false;
  Bytes bytes;
  Seconds begin;             ///< its sender has all that it waited for
  Seconds sent;              ///< its last byte has left the sender
  Seconds taken;             ///< the receiver goes on with the last of it
  Seconds waited{};          ///< by the sender's thread block, before `begin`
  std::string waited_for{};  ///< "rank 2", "a slot of rank 5", "launch"; empty if it did not wait
};

/// The messages of a channel, loop by loop, step by step, and in order of time within a step.
/// `steps` are those of replay_steps() of the channel.
std::vector<StepMessage> step_messages(const CallTrace& trace, std::uint32_t channel,
                                       const std::vector<Step>& steps);

/// The way of a connection's messages: devices in order, and what is shared beyond links.
struct MessageRoute {
  std::vector<std::string> devices;  ///< "node0/gpu0", "node0/nvswitch0", "node0/gpu1"
  std::vector<std::string> shared;   ///< "host memory of node 0"
  std::vector<std::string> links;    ///< "node0/gpu0 -> node0/nvswitch0 (nvlink)"
};
MessageRoute route_of(const CallTrace& trace, std::uint32_t channel, ConnectionId connection);

}  // namespace collsim
