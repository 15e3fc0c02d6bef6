#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/call/call_compiler.h"
#include "sim/execution/execution.h"
#include "sim/execution/timeline.h"

namespace collsim {

/// What a participant does on one channel and lane.
struct TraceThread {
  Rank participant = 0;  ///< a rank or, from the number of ranks on, a switch
  std::uint32_t channel = 0;
  std::uint32_t lane = 0;

  constexpr auto operator<=>(const TraceThread&) const = default;
};

/// A slice on its way through a connection's FIFO.
struct TracedMessage {
  std::uint32_t channel = 0;
  ConnectionId connection = 0;
  Bytes bytes;
  RecordId begun = no_record;     ///< the sender's record of its first piece,
  RecordId sent = no_record;      ///< and of its last
  RecordId received = no_record;  ///< the receiver's record of its first piece,
  RecordId taken = no_record;     ///< and of its last
};

/// One call, with the time of everything that happened in it.
struct CallTrace {
  CompiledCall call;
  Timeline timeline;                     ///< from the beginning of the launch
  Seconds launch;                        ///< before the first slice
  Seconds time;                          ///< of the whole call
  std::vector<TraceThread> threads;      ///< that do anything, in order
  std::vector<std::uint32_t> thread_of;  ///< index of a record's thread, by RecordId
  std::vector<TracedMessage> messages;   ///< the k-th send of a connection is its k-th receive
};

/// Simulates a call, every message of every rank, and keeps all times. Throws InputError where that
/// would be more than `most` slices, HangError where a fault keeps it from ever ending.
CallTrace trace_call(const CompiledCall& call, double most, const Watch* watch = nullptr);

/// The primitive that a record is of.
Primitive primitive_of(const CallTrace& trace, const TimelineRecord& record);

/// What a thread does for a while.
enum class SpanKind : std::uint8_t {
  wait,  ///< for the launch, a message, a free slot in a FIFO
  work,  ///< one slice or piece of a slice, costs before and after included
  move,  ///< within `work`: its bytes flow
};

/// A piece of a thread's time. In nanoseconds, which is what viewers of traces count.
struct TraceSpan {
  std::uint32_t thread = 0;  ///< index
  SpanKind kind = SpanKind::work;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  RecordId record = no_record;  ///< that works; of a wait, that it ends with
};

/// Thread by thread in order of time; a `move` follows the `work` that it is in. Spans of a thread
/// do not overlap otherwise, and those of `work` are as long as the timeline's, rounded.
std::vector<TraceSpan> spans_of(const CallTrace& trace);

/// Names a span: "recv_reduce_send chunk 3", "waits for rank 2", "waits for a slot of rank 5",
/// "launch".
std::string name_of(const CallTrace& trace, const TraceSpan& span);
/// Names a thread: "channel 3", or "channel 3 lane 1" where channels have several lanes.
std::string name_of(const CallTrace& trace, const TraceThread& thread);

/// The time to the nearest nanosecond.
std::int64_t nanoseconds(Seconds time);

}  // namespace collsim
