#pragma once

#include <vector>

#include "tools/collsim/report/answer.h"
#include "tools/collsim/traces/job_trace.h"

namespace collsim::command {

/// What became of a job's step from one run to another.
struct JobChange {
  Answer answer;
  bool is_slower = false;  ///< by more than the threshold, which is a share
};

/// Holds the traces of two runs of a job against each other: parts of the step, and calls that are
/// alike. Those of the second run begin with the first rank that comes again. Throws InputError
/// where none does, or a rank comes more often.
JobChange compare_jobs(std::vector<RankTrace> traces, double threshold);

}  // namespace collsim::command
