#pragma once

#include "models/nccl/choice.h"
#include "models/nccl/symmetric/symmetric_kernel.h"

namespace collsim {

/// What a communicator chooses symmetric kernels by, with the variables that change them:
/// NCCL_SYM_KERNEL, NCCL_SYM_CTAS, NCCL_MIN_CTAS, NCCL_MAX_CTAS. Throws InputError for a value that
/// none of them takes. Ranks of several hosts have no common memory here: NCCL's kernels between
/// hosts (2.29 on) are not modelled.
SymmetricSetting symmetric_setting(const Nccl& nccl, const Nccl::Variables& variables,
                                   const Reduction& reduction = {});

}  // namespace collsim
