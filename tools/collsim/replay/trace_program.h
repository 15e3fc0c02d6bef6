#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/program/call_program.h"
#include "tools/collsim/traces/job_trace.h"

namespace collsim {

/// What one rank did in a traced step.
struct TracedRankStep {
  std::int64_t rank = 0;
  double begin_us = 0;    ///< begin of its first work on the GPU, counted from that of all ranks
  double end_us = 0;      ///< end of its last work, counted likewise
  double compute_us = 0;  ///< in which kernels, copies or fills ran
  double exposed_us = 0;  ///< in which calls moved, all ranks there, and nothing else ran
  double waited_us = 0;   ///< of the step, in which nothing ran and no call moved: for others, or
                          ///< for the host
};

/// One step of traces as a program, beside what was traced.
struct TracedStep {
  std::size_t number = 0;  ///< among the steps of the traces, from 0
  std::size_t of = 0;      ///< how many steps they have
  CallProgram program{};
  std::vector<TracedRankStep> ranks{};  ///< by the program's groups
  double time_us = 0;                   ///< from the first work of any rank to the last
  std::vector<RankTrace> cut{};         ///< the traces with the calls of this step alone
  /// The number of each call in `cut`, by group and op of the program; -1 where it is none.
  std::vector<std::vector<std::int32_t>> calls{};
  std::size_t kept_calls = 0;  ///< that stay as long as traced: nothing says what they do
  std::size_t absent = 0;      ///< ranks without a trace
};

/// Makes a program of one step of a job's traces, one of each rank. Kernels, copies and fills keep
/// their streams and the times that they took, with the GPU's own gaps of some microseconds before
/// them. They are issued when the host issued them: where the GPU was idle and the host was late,
/// they begin as late again. Where the host waited for the GPU, it does so again. What waited for
/// another stream, by what the host told the stream or by ending and beginning at one time, comes
/// after it. Calls of NCCL become calls on their communicators. Ranks without a trace are taken to
/// come to each call as rank 0, or the first with a trace, does: they are in its group.
///
/// `step` counts from 0; the last one is taken if it is no step (of_last_step). Traces without
/// steps are one step. Throws InputError for a step that there is not, for traces without kernels,
/// and for ranks that the job does not have.
TracedStep program_of_step(std::vector<RankTrace> traces, std::size_t step);

/// Stands for the last step of the traces.
inline constexpr std::size_t of_last_step = static_cast<std::size_t>(-1);

}  // namespace collsim
