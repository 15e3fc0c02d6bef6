#pragma once

#include <cstdint>
#include <vector>

#include "sim/execution/executor.h"
#include "sim/execution/timeline.h"

namespace collsim {

/// The chain of primitives that decides how long a call takes, and how its time is spent.
/// latency + serial + transfer + launch is the whole time.
struct CriticalPath {
  std::vector<RecordId> records;  ///< first to last
  Seconds launch;
  Seconds latency;         ///< alphas between a send and whoever waited for it
  Seconds serial;          ///< per-slice work of thread blocks
  Seconds transfer;        ///< bytes on the move
  std::uint32_t hops = 0;  ///< messages on the path

  Seconds total() const { return launch + latency + serial + transfer; }
};

/// Follows the causes in a timeline back from the record that ended last.
CriticalPath critical_path(const Timeline& timeline, Seconds launch);

}  // namespace collsim
