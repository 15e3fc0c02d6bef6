#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/multimem.h"
#include "sim/algorithms/other_collectives.h"

namespace collsim {

constexpr Algorithm reduce_scatter_multimem{
    "multimem",
    Collective::reduce_scatter,
    "everybody loads the sum of its part from the NVSwitch: 1 step",
    unsupported_by_switch,
    chunk_per_rank,
    nullptr};

}  // namespace collsim
