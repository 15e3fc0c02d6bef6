#pragma once

#include "sim/cost/calibration.h"

namespace collsim {

/// The costs where thread blocks take `pace` times as long for everything, as on a GPU of another
/// clock rate: times per protocol are multiplied, rates divided. Bytes and shares stay, and so does
/// all that is not done by thread blocks: launch and issue, proxies and host memory, what links
/// carry, and alphas of networks.
Calibration at_pace(Calibration cost, double pace);

}  // namespace collsim
