#include "models/trace/trace_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "sim/base/json_text.h"

namespace collsim {

namespace {

using nlohmann::ordered_json;

double microseconds_of(std::int64_t nanoseconds) {
  constexpr double thousand = 1e3;
  return static_cast<double>(nanoseconds) / thousand;
}

/// Numbers of processes begin at 1: 0 is the system's.
std::uint64_t pid_of(Rank participant) {
  return std::uint64_t{participant} + 1;
}

ordered_json naming(const char* what, std::uint64_t pid, std::uint64_t tid, std::string name) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", pid},
          {"tid", tid},
          {"args", {{"name", std::move(name)}}}};
}

void add_names(const CallTrace& trace, ordered_json& events) {
  const Schedule& schedule = trace.call.plan().schedules.front();
  for (Rank participant = 0; participant < schedule.participants(); ++participant) {
    events.push_back(
        naming("process_name", pid_of(participant), 0, participant_name(schedule, participant)));
  }
  for (std::size_t i = 0; i < trace.threads.size(); ++i) {
    events.push_back(naming("thread_name", pid_of(trace.threads[i].participant), i + 1,
                            name_of(trace, trace.threads[i])));
  }
}

void add_spans(const CallTrace& trace, ordered_json& events) {
  for (const TraceSpan& span : spans_of(trace)) {
    ordered_json event{{"ph", "X"},
                       {"name", name_of(trace, span)},
                       {"pid", pid_of(trace.threads[span.thread].participant)},
                       {"tid", span.thread + 1},
                       {"ts", microseconds_of(span.begin)},
                       {"dur", microseconds_of(span.end - span.begin)}};
    if (span.kind == SpanKind::work) {
      const TimelineRecord& record = trace.timeline.records[span.record];
      event["args"] = {{"bytes", record.bytes.count},
                       {"loop", record.loop},
                       {"step", record.primitive},
                       {"slice", record.slice}};
    }
    events.push_back(std::move(event));
  }
}

/// One end of an arrow, which belongs to the slice that is there at that time.
ordered_json flow_end(const CallTrace& trace, const char* phase, std::size_t id, RecordId record) {
  const std::uint32_t thread = trace.thread_of[record];
  return {{"ph", phase},
          {"name", "message"},
          {"cat", "message"},
          {"id", id},
          {"bp", "e"},
          {"pid", pid_of(trace.threads[thread].participant)},
          {"tid", thread + 1},
          {"ts", microseconds_of(nanoseconds(trace.timeline.records[record].begin))}};
}

void add_flows(const CallTrace& trace, ordered_json& events) {
  for (std::size_t i = 0; i < trace.messages.size(); ++i) {
    events.push_back(flow_end(trace, "s", i + 1, trace.messages[i].begun));
    events.push_back(flow_end(trace, "f", i + 1, trace.messages[i].received));
  }
}

void add_counters(const CallTrace& trace, std::span<const TraceCounter> counters,
                  ordered_json& events) {
  const std::uint64_t pid = trace.call.plan().schedules.front().participants() + 1;
  events.push_back(naming("process_name", pid, 0, "links"));
  for (const TraceCounter& counter : counters) {
    for (const auto& [at, value] : counter.values) {
      events.push_back({{"ph", "C"},
                        {"name", counter.name},
                        {"pid", pid},
                        {"ts", microseconds_of(at)},
                        {"args", {{counter.unit, value}}}});
    }
  }
}

}  // namespace

std::string json_trace(const CallTrace& trace, std::span<const TraceCounter> counters) {
  ordered_json events = ordered_json::array();
  add_names(trace, events);
  add_spans(trace, events);
  add_flows(trace, events);
  add_counters(trace, counters, events);
  const ordered_json root{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
  return json_text(root) + "\n";
}

}  // namespace collsim
