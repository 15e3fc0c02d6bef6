#pragma once

#include "tools/recorder/run_list.h"

namespace collsim::recorder {

/// About how long a run takes, in seconds, so that a plan can be cut to the time there is. A crude
/// guess: what starting costs, and of each case the calls that fit its time, at the speed of an
/// H200 on NVLink, of host memory (NCCL_P2P_DISABLE=1), or of the slowest shaped link.
double guessed_seconds(const Run& run);

}  // namespace collsim::recorder
