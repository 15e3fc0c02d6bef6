#pragma once

#include "sim/base/units.h"
#include "sim/execution/timeline.h"
#include "sim/plan/plan.h"

namespace collsim {

/// The textbook's machine in two numbers, as in alpha_beta_machine(), but for any plan.
struct TwoNumberMachine {
  Seconds alpha;
  BytesPerSecond bandwidth;  ///< of every rank, each way; a switch has a port for each rank
};

/// One call, and when everything happened in it.
struct TimedCall {
  Timeline timeline;
  Seconds time;
};

/// Runs one loop of channel 0 with a buffer of that size, where every rank goes on as soon as it
/// can. Messages are whole.
TimedCall textbook_timeline(const Plan& plan, const TwoNumberMachine& machine, Bytes size);

}  // namespace collsim
