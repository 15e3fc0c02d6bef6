#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "tools/collsim/hang/job_calls.h"

namespace collsim {

/// What is wrong with a job (docs/hang.md).
enum class HangVerdict : std::uint8_t {
  no_hang,             ///< all that was issued is alike and has completed
  late,                ///< a call was, or is, waited for, but not so long that it must be stuck
  missing_call,        ///< ranks left out a call that others issued
  other_operation,     ///< ranks issued other operations as the same call
  other_order,         ///< ranks issued two calls in the other order
  other_type,          ///< ranks issued a call for other types of elements
  other_size,          ///< ranks issued a call for other numbers of elements
  other_communicator,  ///< a rank issued a call on another communicator than the others
  cycle,               ///< ranks wait for each other in different calls
  cpu_side,            ///< ranks never issued a call in which others wait, and wait in none
  gpu,                 ///< ranks issued a call that others have completed, and do not complete it
  nccl,                ///< all ranks issued a call alike, and none completes it
  no_dump              ///< all wait for ranks without a dump
};

/// The verdict's name: "no hang", "stuck on the CPU side".
std::string_view to_string(HangVerdict verdict);
/// Whether it is a hang or a disagreement: all but no_hang and late are.
bool is_hang(HangVerdict verdict);

/// Ranks that have done the same.
struct HangGroup {
  std::vector<std::uint32_t> ranks;
  std::size_t call = 0;  ///< index of Job::calls
  /// What one of them issued, or nothing if they did not issue the call.
  const FlightEntry* entry = nullptr;
  Progress progress = Progress::absent;
};

/// One thing that is wrong.
struct HangFinding {
  HangVerdict verdict = HangVerdict::no_hang;
  std::vector<std::uint32_t> suspects;  ///< ranks, sorted
  std::size_t call = 0;                 ///< index of Job::calls
  std::vector<HangGroup> groups;        ///< who did what
  std::vector<std::uint32_t> waiting;   ///< ranks that wait because of it, through others too
  std::vector<std::uint32_t> undumped;  ///< ranks of the call whose dumps are missing
  /// How long the call has been waited for at least, where dumps say it.
  std::optional<Seconds> waited;
  std::optional<Seconds> timeout;  ///< the call's own
};

/// What the dumps of a job say.
struct HangAnalysis {
  HangVerdict verdict = HangVerdict::no_hang;  ///< of the first finding
  std::vector<HangFinding> findings;           ///< the likeliest cause first
};

/// How dumps are judged.
struct HangOptions {
  /// A wait of this length is a hang. The default is each call's own timeout.
  std::optional<Seconds> patience;
};

/// Finds where ranks disagree, and follows all waits to their ends. Disagreements come first, the
/// earliest first of all. A wait counts as a hang unless the dump was written sooner after the call
/// than `patience`.
HangAnalysis analyse_hang(const Job& job, const HangOptions& options = {});

}  // namespace collsim
