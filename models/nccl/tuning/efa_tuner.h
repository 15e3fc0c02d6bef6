#pragma once

#include <cstdint>
#include <optional>

#include "models/nccl/settings/function.h"
#include "models/nccl/system/efa.h"
#include "sim/base/units.h"

namespace collsim {

/// What the tuner of aws-ofi-nccl asks NCCL to run; nothing where it leaves the choice to NCCL: on
/// up to two nodes, and where none of its regions has the call (aws-ofi-nccl
/// src/tuner/nccl_ofi_regions.cpp, master of 2026). A region is a polygon over the logarithms of
/// size and ranks; the first one that has the call counts. Known are those of p5 and p5e with 8, 2
/// and 1 GPUs of a node, and of p5en with 8. `size` as NCCL's tuning counts it.
std::optional<AlgorithmProtocol> efa_tuner_choice(EfaPlatform platform, NcclFunction function,
                                                  Bytes size, std::uint32_t ranks,
                                                  std::uint32_t nodes);

}  // namespace collsim
