#pragma once

#include <string>

#include "models/program/program_schedule.h"

namespace collsim {

/// The schedule in the JSON of Chrome's trace viewer, which Perfetto reads, too: groups are
/// processes, streams threads, ops slices. A call has a slice for its wait and one for its move.
/// Times are microseconds.
std::string program_trace(const CallProgram& program, const ProgramSchedule& schedule);

}  // namespace collsim
