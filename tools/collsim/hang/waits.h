#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/collsim/hang/job_calls.h"

namespace collsim {

/// Which ranks wait for which, by index of Job::records.
struct Waits {
  /// The calls that a rank waits in: the oldest that has not completed, and what was issued as one
  /// with it. Indices of Job::calls, in order.
  std::vector<std::vector<std::size_t>> calls;
  /// The ranks that a rank waits for: they have not issued its call, or wait in an older one.
  std::vector<std::vector<std::size_t>> waits_for;
};

/// Ranks that wait for nobody outside of them, with those that wait for them.
struct WaitRoot {
  /// One rank; several if they wait for each other.
  std::vector<std::size_t> records;
  /// Ranks that wait for these, through others too, by index; those of `records` that wait in a
  /// call are among them.
  std::vector<std::size_t> waiting;
};

/// Finds who waits for whom.
Waits find_waits(const Job& job);

/// Follows all waits to their ends. Ranks that wait for nobody, and for whom nobody waits, are no
/// roots.
std::vector<WaitRoot> find_roots(const Waits& waits);

}  // namespace collsim
