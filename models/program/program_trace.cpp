#include "models/program/program_trace.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace collsim {

namespace {

using Event = nlohmann::ordered_json;

constexpr double microsecond = 1e-6;

/// The name of a process (`process_name`) or of a thread (`thread_name`).
Event name_event(const char* what, std::size_t process, std::size_t thread,
                 const std::string& name) {
  return {
      {"ph", "M"}, {"name", what}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

Event slice_event(std::string name, std::size_t process, std::size_t thread, Seconds from,
                  Seconds to) {
  return {
      {"ph", "X"},     {"name", std::move(name)},        {"pid", process},
      {"tid", thread}, {"ts", from.value / microsecond}, {"dur", (to - from).value / microsecond}};
}

std::string name_of(const ProgramOp& op) {
  if (!op.name.empty()) return op.name;
  return op.computes() ? "kernels" : std::string(to_string(op.calls.front().kind));
}

void add_ops(const CallProgram& program, const GroupSchedule& times, std::size_t group,
             Event& events) {
  const auto& ops = program.groups[group].ops;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const ProgramOp& op = ops[i];
    const OpTime& time = times.ops[i];
    const std::string name = name_of(op);
    if (op.computes()) {
      events.push_back(slice_event(name, group, op.stream, time.begin, time.end));
      continue;
    }
    if (time.begin < time.moves) {
      std::string waits = "waits: ";
      waits += name;
      events.push_back(slice_event(std::move(waits), group, op.stream, time.begin, time.moves));
    }
    Event moves = slice_event(name, group, op.stream, time.moves, time.end);
    const ProgramCall& call = op.calls.front();
    moves["args"] = {{"call", to_string(call.kind)},
                     {"communicator", program.communicators[call.communicator].name},
                     {"bytes", call.bytes.count}};
    events.push_back(std::move(moves));
  }
}

}  // namespace

std::string program_trace(const CallProgram& program, const ProgramSchedule& schedule) {
  Event events = Event::array();
  for (std::size_t group = 0; group < program.groups.size(); ++group) {
    const RankGroup& ranks = program.groups[group];
    events.push_back(name_event("process_name", group, 0, ranks.name));
    for (std::size_t stream = 0; stream < ranks.streams.size(); ++stream) {
      events.push_back(name_event("thread_name", group, stream, ranks.streams[stream]));
    }
    add_ops(program, schedule.groups[group], group, events);
  }
  const Event trace = {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  std::string text = trace.dump(-1, ' ', false, Event::error_handler_t::replace);
  text += '\n';
  return text;
}

}  // namespace collsim
