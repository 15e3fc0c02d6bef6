#pragma once

#include <span>
#include <string>

#include "models/trace/call_trace.h"
#include "models/trace/trace_counters.h"

namespace collsim {

/// The trace in the JSON of Chrome's trace viewer, which Perfetto reads, too. Times are
/// microseconds. Ten times as long as perfetto_trace(): for small calls and for programs.
std::string json_trace(const CallTrace& trace, std::span<const TraceCounter> counters);

}  // namespace collsim
