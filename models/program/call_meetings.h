#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/program/call_program.h"

namespace collsim {

/// An op that runs on a group.
struct RunningOp {
  std::uint32_t group = 0;
  std::uint32_t op = 0;

  bool operator==(const RunningOp&) const = default;
};

/// A call, and the ops that have come to it: one of every group that takes part, once it begins.
struct MeetingCall {
  ProgramCall call{};
  std::vector<RunningOp> arrived{};
};

/// The places where groups of ranks meet for calls. A call begins when all who take part have come
/// to it and, if it is a collective, when those before it on its communicator have ended.
class CallMeetings {
 public:
  /// Refers to the program.
  explicit CallMeetings(const CallProgram& program);

  /// An op comes to one of its calls. Returns the call if it begins now. Throws InputError if
  /// another group has come to another collective at this place of the communicator's order.
  std::optional<MeetingCall> arrive(RunningOp at, const ProgramCall& call);
  /// A collective of a communicator has ended. Returns those that begin now.
  std::vector<MeetingCall> leave(std::uint32_t communicator);
  /// The groups that have not come to a call to which a group has come; none if it does not wait.
  std::vector<std::uint32_t> waited_for(std::uint32_t group, const ProgramCall& call) const;

 private:
  /// A communicator, who sends on it, and who receives.
  using MessageKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;

  /// The collectives of one communicator.
  struct Collectives {
    std::deque<MeetingCall> meeting{};  ///< that not everybody has come to yet
    std::uint64_t met = 0;              ///< how many everybody has come to
    std::uint32_t running = 0;
    std::vector<RunningOp> ops{};  ///< whose part the running ones are
    std::deque<MeetingCall> next{};
  };

  std::optional<MeetingCall> arrive_at_message(RunningOp at, const ProgramCall& call);
  std::optional<MeetingCall> arrive_at_collective(RunningOp at, const ProgramCall& call);
  std::optional<MeetingCall> begin_or_queue(MeetingCall met);

  const CallProgram& program_;
  std::map<MessageKey, std::deque<MeetingCall>> sends_;
  std::map<MessageKey, std::deque<MeetingCall>> receives_;
  std::vector<Collectives> collectives_;  // by communicator
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> calls_made_;
};

}  // namespace collsim
