#pragma once

#include <iosfwd>

#include "models/nccl/symmetric/symmetric_kernel.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

/// Which symmetric kernels NCCL runs where both buffers are registered: for each function the sizes
/// from which another kernel, or another number of thread blocks, runs; or why none does.
void print_symmetric_choices(const SymmetricSetting& setting, std::ostream& out);

/// The same as JSON.
Record symmetric_record(const SymmetricSetting& setting);

}  // namespace collsim::command
