#pragma once

#include "sim/execution/wiring.h"
#include "sim/plan/plan.h"

namespace collsim::test {

/// Every rank has one port into a switch that never limits: `rate` out, `rate` in, and `alpha` from
/// any rank to any other. Switch agents are that switch: a message from or to one takes `alpha` as
/// well, and loads the rank's port only.
Wiring switch_wiring(const Plan& plan, BytesPerSecond rate, Seconds alpha);

/// Every connection has a link of its own, shared with nobody.
Wiring private_wiring(const Plan& plan, BytesPerSecond rate, Seconds alpha);

}  // namespace collsim::test
