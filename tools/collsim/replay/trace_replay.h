#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/program/program_schedule.h"
#include "tools/collsim/replay/trace_program.h"
#include "tools/collsim/traces/job_trace.h"

namespace collsim {

/// One rank in a traced step and in its replay.
struct ReplayedRank {
  TracedRankStep traced{};
  double end_us = 0;  ///< from the first work of all ranks on; so are the traced ones
  double compute_us = 0;
  double exposed_us = 0;
  double waited_us = 0;  ///< neither a kernel ran nor did a call move
};

/// Calls of one communicator, operation, size and type in a traced step and in its replay.
struct ReplayedClass {
  TracedCall example{};
  std::size_t count = 0;   ///< kernels on all ranks with a trace
  double traced_us = 0;    ///< median, from when the last rank had come
  double replayed_us = 0;  ///< median in the replay
};

/// What a traced step takes elsewhere.
struct ReplayedStep {
  double time_us = 0;
  ProgramSchedule schedule{};
  std::vector<ReplayedRank> ranks{};     ///< by rank
  std::vector<ReplayedClass> classes{};  ///< the longest total time first
};

/// Runs a traced step with calls that cost what `costs` says. Throws InputError where the traced
/// ranks disagree on calls, or wait for each other for ever: traces of different jobs, or cut off.
ReplayedStep replay_step(const TracedStep& step, CallCosts& costs, const GpuSharing& sharing);

}  // namespace collsim
