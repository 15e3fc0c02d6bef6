#pragma once

#include <string>

#include "models/nccl/settings/function.h"
#include "models/nccl/tuning/tuning.h"

namespace collsim {

/// What an algorithm needs to be chosen for a function, and does not have here, for a person: "two
/// nodes or more". Empty where nothing but NCCL_ALGO and NCCL_PROTO keeps it from being chosen.
std::string missing_requirement(NcclFunction function, NcclAlgorithm algorithm,
                                const TuningInput& input);

}  // namespace collsim
