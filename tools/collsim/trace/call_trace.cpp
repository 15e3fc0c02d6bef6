#include "tools/collsim/trace/call_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "models/call/prediction.h"
#include "sim/base/input_error.h"
#include "sim/execution/effort.h"
#include "sim/execution/executor.h"
#include "sim/fabric/engine.h"

namespace collsim {

namespace {

TraceThread thread_of(const TimelineRecord& record) {
  return {record.rank, record.channel, record.lane};
}

/// The executor's clock starts when the launch is over; the call's does before.
void add_launch(CallTrace& trace) {
  for (TimelineRecord& record : trace.timeline.records) {
    for (Seconds* const time : {&record.begin, &record.moving, &record.end, &record.over}) {
      *time += trace.launch;
    }
  }
}

void find_threads(CallTrace& trace) {
  std::map<TraceThread, std::uint32_t> number;
  for (const TimelineRecord& record : trace.timeline.records) number[thread_of(record)];
  for (auto& [thread, index] : number) {
    index = static_cast<std::uint32_t>(trace.threads.size());
    trace.threads.push_back(thread);
  }
  for (const TimelineRecord& record : trace.timeline.records) {
    trace.thread_of.push_back(number[thread_of(record)]);
  }
}

/// The records of every thread, in the order of its program.
std::vector<std::vector<RecordId>> records_by_thread(const CallTrace& trace) {
  std::vector<std::vector<RecordId>> records(trace.threads.size());
  for (RecordId id = 0; id < trace.thread_of.size(); ++id) {
    records[trace.thread_of[id]].push_back(id);
  }
  return records;
}

/// Pieces of one slice, which follow each other.
struct SliceRecords {
  RecordId first = no_record;
  RecordId last = no_record;
  Bytes bytes;
};

std::vector<SliceRecords> slices_of(const Timeline& timeline, const std::vector<RecordId>& ids) {
  std::vector<SliceRecords> slices;
  std::tuple<std::uint32_t, std::uint32_t, std::uint32_t> last;
  for (const RecordId id : ids) {
    const TimelineRecord& record = timeline.records[id];
    const std::tuple slice(record.loop, record.primitive, record.slice);
    if (slices.empty() || slice != last) slices.push_back({id, id, {}});
    slices.back().last = id;
    slices.back().bytes += record.bytes;
    last = slice;
  }
  return slices;
}

/// What went through one connection, in order.
struct Passages {
  std::vector<SliceRecords> sent;
  std::vector<SliceRecords> received;
};

void find_messages(CallTrace& trace) {
  std::map<std::pair<std::uint32_t, ConnectionId>, Passages> passages;
  const auto records = records_by_thread(trace);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::uint32_t channel = trace.threads[i].channel;
    const Schedule& schedule = trace.call.plan().schedule(channel);
    for (const SliceRecords& slice : slices_of(trace.timeline, records[i])) {
      const Primitive primitive = primitive_of(trace, trace.timeline.records[slice.first]);
      for (const ConnectionId id : schedule.peers(primitive.send_group)) {
        passages[{channel, id}].sent.push_back(slice);
      }
      for (const ConnectionId id : schedule.peers(primitive.receive_group)) {
        passages[{channel, id}].received.push_back(slice);
      }
    }
  }
  for (const auto& [key, passage] : passages) {
    assert(passage.sent.size() == passage.received.size());
    for (std::size_t k = 0; k < passage.sent.size(); ++k) {
      const SliceRecords& sent = passage.sent[k];
      const SliceRecords& received = passage.received[k];
      trace.messages.push_back({key.first, key.second, sent.bytes, sent.first, sent.last,
                                received.first, received.last});
    }
  }
}

std::string participant_of(const CallTrace& trace, const TimelineRecord& record) {
  return participant_name(trace.call.plan().schedule(record.channel), record.rank);
}

std::string wait_name(const CallTrace& trace, const TimelineRecord& record) {
  if (record.cause == Cause::begin || record.caused_by == no_record) return "launch";
  const TimelineRecord& cause = trace.timeline.records[record.caused_by];
  switch (record.cause) {
    case Cause::message:
      return "waits for " + participant_of(trace, cause);
    case Cause::credit:
      return "waits for a slot of " + participant_of(trace, cause);
    default:
      return "waits for its thread block";
  }
}

}  // namespace

CallTrace trace_call(const CompiledCall& call, double most, const Watch* watch) {
  Execution execution = execution_of(call);
  execution.calls = 1;
  execution.watch = watch;
  const double slices = effort_of(execution).whole;
  if (slices > most) {
    throw InputError(fmt::format("a trace of about {:.0f} slices", slices),
                     fmt::format("at most {:.0f}: a smaller size or fewer ranks", most));
  }
  CallTrace trace{call, {}, execution.startup(), {}, {}, {}, {}};
  const auto fabric = make_fabric(Engine::native);
  trace.time = execute(execution, *fabric, &trace.timeline).time;
  add_launch(trace);
  find_threads(trace);
  find_messages(trace);
  return trace;
}

Primitive primitive_of(const CallTrace& trace, const TimelineRecord& record) {
  const Schedule& schedule = trace.call.plan().schedule(record.channel);
  return schedule.program(record.rank, record.lane)[record.primitive];
}

std::vector<TraceSpan> spans_of(const CallTrace& trace) {
  std::vector<TraceSpan> spans;
  const auto records = records_by_thread(trace);
  for (std::uint32_t thread = 0; thread < records.size(); ++thread) {
    std::int64_t free = 0;
    for (const RecordId id : records[thread]) {
      const TimelineRecord& record = trace.timeline.records[id];
      const std::int64_t begin = nanoseconds(record.begin);
      const std::int64_t over = nanoseconds(record.over);
      if (begin > free) spans.push_back({thread, SpanKind::wait, free, begin, id});
      spans.push_back({thread, SpanKind::work, begin, over, id});
      const std::int64_t moving = nanoseconds(record.moving);
      const std::int64_t end = nanoseconds(record.end);
      if (end > moving) spans.push_back({thread, SpanKind::move, moving, end, id});
      free = over;
    }
  }
  return spans;
}

std::string name_of(const CallTrace& trace, const TraceSpan& span) {
  const TimelineRecord& record = trace.timeline.records[span.record];
  switch (span.kind) {
    case SpanKind::wait:
      return wait_name(trace, record);
    case SpanKind::move:
      return "bytes flow";
    default:
      break;
  }
  const Primitive primitive = primitive_of(trace, record);
  const ChunkRange chunks = primitive.chunks();
  if (chunks.count == 1) return fmt::format("{} chunk {}", to_string(primitive.kind), chunks.first);
  return fmt::format("{} chunks {}-{}", to_string(primitive.kind), chunks.first,
                     chunks.first + chunks.count - 1);
}

std::string name_of(const CallTrace& trace, const TraceThread& thread) {
  const bool lanes = trace.call.plan().schedule(thread.channel).lanes() > 1;
  return lanes ? fmt::format("channel {} lane {}", thread.channel, thread.lane)
               : fmt::format("channel {}", thread.channel);
}

std::int64_t nanoseconds(Seconds time) {
  constexpr double giga = 1e9;
  return std::llround(time.value * giga);
}

}  // namespace collsim
