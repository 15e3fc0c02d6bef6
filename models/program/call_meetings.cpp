#include "models/program/call_meetings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

std::string in_words(const ProgramCall& call) {
  std::string text = fmt::format("{} of {}", to_string(call.kind), to_string(call.bytes));
  if (call.root > 0) text += fmt::format(" from root {}", call.root);
  return text;
}

[[noreturn]] void report_mismatch(const CallProgram& program, const MeetingCall& meeting,
                                  RunningOp at, const ProgramCall& call, std::uint64_t place) {
  throw InputError(
      fmt::format("call {} of communicator '{}' is {} in '{}' and {} in '{}'", place + 1,
                  program.communicators[call.communicator].name, in_words(meeting.call),
                  program.groups[meeting.arrived.front().group].name, in_words(call),
                  program.groups[at.group].name),
      "the same calls in the same order in all groups of a communicator");
}

}  // namespace

CallMeetings::CallMeetings(const CallProgram& program)
    : program_(program), collectives_(program.communicators.size()) {}

std::optional<MeetingCall> CallMeetings::arrive(RunningOp at, const ProgramCall& call) {
  return is_message(call.kind) ? arrive_at_message(at, call) : arrive_at_collective(at, call);
}

std::optional<MeetingCall> CallMeetings::arrive_at_message(RunningOp at, const ProgramCall& call) {
  const bool sends = call.kind == ProgramCallKind::send;
  const MessageKey key{call.communicator, sends ? at.group : call.peer,
                       sends ? call.peer : at.group};
  auto& others = (sends ? receives_ : sends_)[key];
  if (others.empty()) {
    (sends ? sends_ : receives_)[key].push_back({call, {at}});
    return std::nullopt;
  }
  MeetingCall met = std::move(others.front());
  others.pop_front();
  met.arrived.push_back(at);
  met.call.bytes = std::max(met.call.bytes, call.bytes);
  met.call.kind = ProgramCallKind::send;
  met.call.peer = sends ? call.peer : at.group;
  met.call.root = place_of_group(program_, call.communicator, sends ? at.group : call.peer);
  return met;
}

std::optional<MeetingCall> CallMeetings::arrive_at_collective(RunningOp at,
                                                              const ProgramCall& call) {
  Collectives& collectives = collectives_[call.communicator];
  const std::uint64_t place = calls_made_[{call.communicator, at.group}]++;
  const std::uint64_t from_front = place - collectives.met;
  while (collectives.meeting.size() <= from_front) collectives.meeting.emplace_back();
  MeetingCall& meeting = collectives.meeting[from_front];
  if (!meeting.arrived.empty() &&
      (meeting.call.kind != call.kind || meeting.call.bytes != call.bytes ||
       meeting.call.root != call.root)) {
    report_mismatch(program_, meeting, at, call, place);
  }
  meeting.call = call;
  meeting.arrived.push_back(at);
  if (meeting.arrived.size() < program_.communicators[call.communicator].groups.size()) {
    return std::nullopt;
  }
  MeetingCall met = std::move(collectives.meeting.front());
  collectives.meeting.pop_front();
  ++collectives.met;
  return begin_or_queue(std::move(met));
}

/// Calls of a communicator run one after the other, on whatever streams they are (NCCL's guide,
/// "Using multiple streams": a communicator's kernels wait for those on other streams before them),
/// but for those of one group. So do the gathers and scatters of FSDP in traces of two H100: of 27
/// neighbours none overlap.
std::optional<MeetingCall> CallMeetings::begin_or_queue(MeetingCall met) {
  Collectives& collectives = collectives_[met.call.communicator];
  const auto of_running_op = [&](const RunningOp& at) {
    return std::find(collectives.ops.begin(), collectives.ops.end(), at) != collectives.ops.end();
  };
  const bool together = collectives.next.empty() &&
                        std::any_of(met.arrived.begin(), met.arrived.end(), of_running_op);
  if (collectives.running > 0 && !together) {
    collectives.next.push_back(std::move(met));
    return std::nullopt;
  }
  ++collectives.running;
  collectives.ops = met.arrived;
  return met;
}

std::vector<MeetingCall> CallMeetings::leave(std::uint32_t communicator) {
  Collectives& collectives = collectives_[communicator];
  std::vector<MeetingCall> begun;
  if (--collectives.running > 0) return begun;
  for (MeetingCall& each : std::exchange(collectives.next, {})) {
    if (auto met = begin_or_queue(std::move(each))) begun.push_back(std::move(*met));
  }
  return begun;
}

std::vector<std::uint32_t> CallMeetings::waited_for(std::uint32_t group,
                                                    const ProgramCall& call) const {
  if (is_message(call.kind)) {
    const bool sends = call.kind == ProgramCallKind::send;
    const MessageKey key{call.communicator, sends ? group : call.peer, sends ? call.peer : group};
    const auto& all = sends ? sends_ : receives_;
    const auto found = all.find(key);
    if (found == all.end() || found->second.empty()) return {};
    return {call.peer};
  }
  const auto& meeting = collectives_[call.communicator].meeting;
  if (meeting.empty()) return {};
  std::vector<std::uint32_t> others = program_.communicators[call.communicator].groups;
  bool waits = false;
  for (const RunningOp& at : meeting.front().arrived) {
    waits = waits || at.group == group;
    std::erase(others, at.group);
  }
  return waits ? others : std::vector<std::uint32_t>();
}

}  // namespace collsim
