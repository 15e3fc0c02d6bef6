#pragma once

#include <iosfwd>
#include <span>

#include "tools/collsim/explain/explanation.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// As text for a reader:
///
///   # all_reduce on HGX H200, 8 GPUs on NVSwitch, 8 ranks
///   # as NCCL 2.30 runs it; engine native; calibration hgx-h200
///
///   4194304 B in 47.16 us by simulation, 8 of 10 such times from 44.80 to 49.99 us; ...
///
///   candidates              ch  threads  nccl's own (us)  simulated (us)
///     ring            LL128 24      640            52.10           47.16  chosen
///     ...
///     nvls            LL     -        -                -               -  NCCL has no such kernel
///
///   24 channels, 640 threads, chunks of ...
///
///   where the time goes: launch, latency, thread blocks, bandwidth, rest
///   critical path
///   busiest
void print_explanation(const Section& section, const CallCompiler& compiler,
                       const Explanation& explanation, std::ostream& out);

/// As JSON has it.
Record explanation_record(const CallRequest& request, const RunSpec& run,
                          const Explanation& explanation);

}  // namespace collsim::command
