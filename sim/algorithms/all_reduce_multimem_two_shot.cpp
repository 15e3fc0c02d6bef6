#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/multimem.h"

namespace collsim {

constexpr Algorithm all_reduce_multimem_two_shot{
    "multimem_two_shot",
    Collective::all_reduce,
    "everybody loads the sum of its part from the NVSwitch and stores it to all: 2 steps",
    unsupported_by_switch,
    chunk_per_rank,
    nullptr};

}  // namespace collsim
