#pragma once

#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/request/kernel_option.h"

namespace collsim::command {

/// Answers a question about peer kernels: a section of rows for each kernel that it names, in their
/// order. `simulated`: see PeerCalls.
void write_kernel_rows(const CallRequest& request, const KernelQuestion& question, bool simulated,
                       CallPrinter& printer);

/// Answers for each run of a request whose buffers are registered with NCCL. Throws InputError for
/// a textbook's schedule.
void write_registered_rows(const CallRequest& request, bool simulated, CallPrinter& printer,
                           std::ostream& err);

}  // namespace collsim::command
