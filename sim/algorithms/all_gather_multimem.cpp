#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/multimem.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

constexpr Algorithm all_gather_multimem{
    "multimem",
    Collective::all_gather,
    "everybody stores its part to all through the NVSwitch: 1 step, each part sent once",
    unsupported_by_switch,
    chunk_per_rank,
    nullptr};

}  // namespace collsim
