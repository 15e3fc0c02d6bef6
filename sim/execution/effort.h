#pragma once

#include <cstdint>

#include "sim/execution/execution.h"

namespace collsim {

/// How much work an execution is: messages, a slice's pieces counted one by one.
struct Effort {
  double whole = 0;    ///< messages of all calls
  double steady = 0;   ///< estimate of those left where repeating loops are skipped (SteadyState)
  double workers = 0;  ///< workers that are laid out before the first message
};

/// Counts the messages of an execution without running it.
Effort effort_of(const Execution& execution);
/// The share of the messages that is simulated where equals are folded (symmetry_of()). Lays the
/// execution out where it may_fold(), without running it. 1 where it is more than `max_share`.
double folded_share(const Execution& execution, double max_share);

}  // namespace collsim
