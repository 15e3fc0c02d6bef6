#pragma once

#include <span>
#include <string>

#include "tools/collsim/trace/call_trace.h"
#include "tools/collsim/trace/trace_counters.h"

namespace collsim {

/// The trace as Perfetto's protobuf (Trace of TracePacket with TrackEvent): participants are
/// processes, channels and lanes threads, spans slices, messages flows from the slice that sent to
/// the one that received. Field numbers are those of Perfetto's protos/perfetto/trace.
std::string perfetto_trace(const CallTrace& trace, std::span<const TraceCounter> counters);

}  // namespace collsim
