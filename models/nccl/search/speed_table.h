#pragma once

#include <span>

#include "models/nccl/settings/version.h"

namespace collsim {

/// The bandwidths per channel that NCCL's search tries, GB/s, falling. `inter`: with other nodes.
/// Blackwell's table grew: 45 inside a node came with 2.29.2, 86 and 80 between nodes with 2.30,
/// 90.2 with 2.31.
std::span<const float> speed_table(int min_compute_capability, bool inter, NcclVersion version);

}  // namespace collsim
