#pragma once

#include <string>
#include <vector>

#include "models/nccl/choice.h"
#include "models/nccl/symmetric/symmetric_kernel.h"

namespace collsim {

/// What a communicator chooses symmetric kernels by, with the variables that change them:
/// NCCL_SYM_KERNEL, NCCL_SYM_CTAS, NCCL_MIN_CTAS, NCCL_MAX_CTAS, NCCL_WIN_ENABLE. Throws InputError
/// for a value that none of them takes. Ranks of several hosts have no common memory here: NCCL's
/// kernels between hosts (2.29 on) are not modelled.
SymmetricSetting symmetric_setting(const Nccl& nccl, const Nccl::Variables& variables,
                                   const Reduction& reduction = {});

/// The warnings of a communicator without those of variables that calls on registered buffers heed
/// and others do not: NCCL_SYM_KERNEL, NCCL_SYM_CTAS, NCCL_CTA_POLICY, NCCL_WIN_ENABLE.
std::vector<std::string> warnings_of_registered(std::vector<std::string> warnings);

}  // namespace collsim
