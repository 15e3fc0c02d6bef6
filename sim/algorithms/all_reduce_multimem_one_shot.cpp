#include "sim/algorithms/all_reduce.h"
#include "sim/algorithms/multimem.h"

namespace collsim {

constexpr Algorithm all_reduce_multimem_one_shot{
    "multimem_one_shot",
    Collective::all_reduce,
    "everybody loads the whole sum from the NVSwitch, which reads all ranks: 1 step",
    unsupported_by_switch,
    one_chunk,
    nullptr};

}  // namespace collsim
