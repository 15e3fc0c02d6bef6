#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "sim/base/units.h"

namespace collsim {

/// One run of a call that was made on several sets of hosts.
struct HostRun {
  std::set<std::string> hosts;
  double busbw = 0;  ///< in any unit that all runs share
  Bytes size{};      ///< the largest that it is of
};

/// Hosts of which one is slow, as far as runs tell.
struct SlowHosts {
  std::vector<std::string> hosts;  ///< none: each of them is fast with others
  std::vector<std::size_t> runs;   ///< slow ones that it explains
  std::vector<std::string> fast;   ///< hosts of those runs that are fast with others
  /// Whether all hosts of those runs were fast together at another time.
  bool come_and_go = false;
};

/// The share of the fastest run below which a run is slow next to its like, where no noise is known
/// (like_limit()). Equal hosts of one cluster differ by a few percent, and a lost port, link or GPU
/// costs more than a fifth.
inline constexpr double slow_next_to_like = 0.8;

/// Whether each run is slow next to the fastest: below that share of its busbw.
std::vector<bool> slow_runs(const std::vector<HostRun>& runs, double limit = slow_next_to_like);

/// The fewest hosts that explain all slow runs: none of them is in a run that is not slow. Those
/// that explain most come first.
std::vector<SlowHosts> slow_hosts(const std::vector<HostRun>& runs,
                                  double limit = slow_next_to_like);

/// "n644 is slow in 2 runs, whose other hosts n641, n699 are fast elsewhere", and what to run next.
/// `good` is a host that is fast.
std::string describe(const SlowHosts& slow, const std::string& good);

}  // namespace collsim
