#pragma once

#include <iosfwd>

#include "models/diagnosis/run_change.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

/// For people: what became of each size and of each band, and settings that differ.
///
///   # all_reduce, 1 host, 8 ranks: after.log against before.log
///   #      size     before      after   before    after change limit
///   #       (B)       (us)       (us)   (GB/s)   (GB/s)
///     134217728     672.20     801.10   349.42   293.20 -16.1%  5.0% slower
void print_comparison_table(const Recording& before, const Recording& after,
                            const RunChange& change, std::ostream& out);
/// One object: `verdict`, `sizes`, `bands`, `settings`, `only_before`, `only_after`.
Record comparison_record(const Recording& before, const Recording& after, const RunChange& change);

}  // namespace collsim::command
