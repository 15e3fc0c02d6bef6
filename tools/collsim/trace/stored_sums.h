#pragma once

#include <cstdint>
#include <vector>

#include "sim/plan/steps.h"
#include "tools/collsim/trace/call_trace.h"

namespace collsim {

/// A sum that a rank's buffer got: one slice of one chunk.
struct StoredSum {
  RecordId record = no_record;  ///< the last piece of the slice; it is there when that is over
  std::uint32_t chunk = 0;
  Contributions sum;  ///< the ranks whose contributions it has now
};

/// What the ranks' buffers get in the course of a call, in the order in which it begins. Empty for
/// more than max_replayed_ranks ranks. Follows the messages of the trace, so that it sees what the
/// executor did, not what a plan promises.
std::vector<StoredSum> stored_sums(const CallTrace& trace);

/// Whose contributions a rank has of a chunk before the call, and must have after it; no bits where
/// nothing is promised.
Contributions sum_before(const Plan& plan, const Schedule& schedule, Rank rank,
                         std::uint32_t chunk);
Contributions sum_after(const Plan& plan, const Schedule& schedule, Rank rank, std::uint32_t chunk);

}  // namespace collsim
