#pragma once

#include "sim/cost/calibration.h"

namespace collsim {

/// Costs of thread blocks that take `factor` times as long, as on a GPU of another clock rate:
/// their times are multiplied, their rates divided. Bytes, shares and all that thread blocks do not
/// do stay: launch and issue, proxies, host memory, bandwidths of links, alphas of networks.
Calibration with_time_scale(Calibration cost, double factor);

}  // namespace collsim
