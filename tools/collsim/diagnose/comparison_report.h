#pragma once

#include "tools/collsim/diagnose/run_change.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// What became of each size and of each band, and settings that differ:
///
///   # all_reduce, 1 host, 8 ranks
///   #      size  before   after  before   after  change  limit  verdict
///   #       (B)    (us)    (us)  (GB/s)  (GB/s)     (%)    (%)
///     134217728  672.20  801.10  349.42  293.20   -16.1    5.0  slower
///
/// JSON is one object: `verdict`, `sizes`, `bands`, `settings`, `only_before`, `only_after`.
Answer comparison_answer(const Recording& before, const Recording& after, const RunChange& change);

}  // namespace collsim::command
