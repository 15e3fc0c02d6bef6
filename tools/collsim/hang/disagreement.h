#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/collsim/hang/hang_analysis.h"
#include "tools/collsim/hang/job_calls.h"

namespace collsim {

/// Ranks that issued the same as each other, as indices of JobCall::participants.
using Agreeing = std::vector<std::size_t>;

/// The first call of a communicator that its ranks issued differently.
struct Disagreement {
  std::size_t call = 0;  ///< index of Job::calls
  HangVerdict verdict = HangVerdict::other_operation;
  std::vector<Agreeing> groups;         ///< the largest first
  std::vector<std::uint32_t> suspects;  ///< ranks outside the largest; all if there is no largest
  std::int64_t first_issued_ns = 0;
};

/// Whether two entries are the same as far as the ranks of a call must agree.
bool agree(const FlightEntry& a, const FlightEntry& b);

/// The first disagreement of each communicator, and of each pair that sends and receives, the
/// earliest first. What must agree depends on the operation: ranks of all_to_all may have any
/// sizes, the root of a scatter alone has inputs.
std::vector<Disagreement> find_disagreements(const Job& job);

}  // namespace collsim
