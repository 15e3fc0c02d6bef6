#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/collsim/traces/job_trace.h"

namespace collsim {

/// Calls that are alike: of one communicator, operation, size and type, on all ranks together.
struct CallClass {
  TracedCall example;
  std::size_t count = 0;    ///< kernels on all ranks
  double time_us = 0;       ///< median of the kernels' times, which contain waiting
  double transfer_us = 0;   ///< median from the last rank's begin; 0 where no call was matched
  double wait_us = 0;       ///< mean wait of a kernel for the last rank; 0 where none was matched
  std::size_t matched = 0;  ///< kernels whose call was found on all ranks that have a trace
};

/// Time of a rank's calls on a communicator during which no other kernel ran.
struct ExposedTime {
  std::string communicator;
  double exposed_us = 0;
};

/// One rank as a whole. The spans' times count what runs at once only once.
struct RankSummary {
  std::int64_t rank = 0;
  std::size_t steps = 0;
  /// Median of the steps on the GPU, each from its first work to its last; 0 without any.
  double step_us = 0;
  double span_us = 0;  ///< from the first kernel's begin to the last one's end
  double compute_us = 0;
  double communication_us = 0;
  double exposed_us = 0;      ///< communication beside which nothing else ran
  std::size_t came_last = 0;  ///< matched calls in which others waited for this rank
  double waited_us = 0;       ///< time of this rank in matched calls before the last rank began
  std::vector<ExposedTime> by_communicator;  ///< by name
};

/// What a job did by its ranks' traces.
struct TraceSummary {
  std::vector<RankSummary> ranks;  ///< by rank
  std::vector<CallClass> classes;  ///< the longest in sum first
};

/// What is known of traces of the same job when they are laid beside each other.
struct TraceAlignment {
  std::vector<double> offsets;             ///< of each trace: its clock is ahead of the first's by
  std::vector<std::vector<double>> waits;  ///< by trace and call, for the last rank; 0: none known
  std::vector<std::vector<bool>> matched;  ///< likewise: whether all traces have the call
  std::vector<std::size_t> came_last;      ///< by trace: calls in which others waited for it
};

/// The step whose launches a piece of work is of, from 0: a launch is of the step that the host has
/// last begun. Traces without steps are one; nothing for what comes before the first.
std::optional<std::size_t> step_of(const RankTrace& trace, const TracedWork& work);

/// Finds the calls that all traces have, the clocks by them, and who waited.
TraceAlignment align(const std::vector<RankTrace>& traces);

/// Spans of a rank's calls from when the last rank had come to them, each to the call's end.
std::vector<JobSpan> moving_spans(const RankTrace& trace, const std::vector<double>& waits);

/// The time that lies in spans of the first list, and in none of the second.
double time_outside(std::vector<JobSpan> spans, std::vector<JobSpan> others);

/// The traces by rank. Throws InputError where two are of one rank.
void sort_by_rank(std::vector<RankTrace>& traces);

/// Summarizes traces of different ranks. Throws InputError where two are of one rank. The k-th
/// calls of a communicator and operation on all ranks are taken for one call if their numbers and
/// bytes agree. Clocks of ranks are aligned by the median difference of the ends of such calls.
TraceSummary summarize(std::vector<RankTrace> traces);

/// Bytes a microsecond of a call by nccl-tests' factor for its busbw: 2(n-1)/n for all_reduce,
/// (n-1)/n for all_gather, reduce_scatter and all_to_all, else 1.
double busbw_factor(const TracedCall& call);

}  // namespace collsim
