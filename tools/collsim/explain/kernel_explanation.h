#pragma once

#include "tools/collsim/report/answer.h"
#include "tools/collsim/request/call_request.h"
#include "tools/collsim/request/kernel_option.h"

namespace collsim::command {

/// What an engine runs for one size, why, where its time goes, and what the others would take. The
/// request must outlive it.
Answer explain_kernels(const CallRequest& request, const KernelQuestion& question, Bytes size);

/// Which symmetric kernel NCCL runs where the buffers are registered, and why: its own times of all
/// that it considers, and what they are predicted to take; or why it runs none. Throws InputError
/// for a textbook's schedule.
Answer explain_registered(const CallRequest& request, Bytes size, std::ostream& err);

}  // namespace collsim::command
