#pragma once

#include <string>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/recordings/log_facts.h"
#include "models/validation/recorded_call.h"

namespace collsim {

/// Sentences on what NCCL's log says otherwise than the machine should have it: transports,
/// channels, NICs, NVLS, GPUs and hosts; and its warnings. `compiler` is of the call on the healthy
/// machine.
std::vector<std::string> contradictions(const LogFacts& facts, const CallCompiler& compiler,
                                        const RecordedCall& call);

}  // namespace collsim
