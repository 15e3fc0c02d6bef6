#pragma once

#include <span>

namespace collsim {

/// The bandwidths per channel that NCCL's search tries, GB/s, falling. `inter`: with other nodes.
std::span<const float> speed_table(int least_compute_capability, bool inter);

}  // namespace collsim
