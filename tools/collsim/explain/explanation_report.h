#pragma once

#include "tools/collsim/explain/explanation.h"
#include "tools/collsim/report/answer.h"
#include "tools/collsim/report/call_rows.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// Adds what is said of a call: its time, candidates and NCCL's choice, how the data is divided,
/// where the time goes, the critical path, the busiest resources. Returns the same as JSON has it.
/// What the section refers to must outlive the answer.
Record add_explanation(const Section& section, const CallCompiler& compiler,
                       const Explanation& explanation, Answer& answer);

}  // namespace collsim::command
