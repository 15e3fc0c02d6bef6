#pragma once

#include "tools/collsim/hang/hang_analysis.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// Ranks of a communicator that are in the same state.
struct CommunicatorRow {
  std::size_t communicator = 0;
  std::vector<std::uint32_t> ranks;
  std::int64_t completed = 0;         ///< sequence number of the last completed collective
  const JobCall* waits_in = nullptr;  ///< the oldest call that has not completed, or nothing
  bool has_dump = true;
};

/// The ranks of all communicators by state, in the order of the communicators.
std::vector<CommunicatorRow> communicator_rows(const Job& job);

/// The answer, the reasons, and a table of the communicators in which ranks wait or disagree.
Answer hang_answer(const Job& job, const HangAnalysis& analysis);
/// The same as one object of JSON, with all communicators.
Record hang_record(const Job& job, const HangAnalysis& analysis);

}  // namespace collsim::command
