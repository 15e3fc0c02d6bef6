#pragma once

#include <string>
#include <vector>

#include "models/call/call_compiler.h"
#include "models/recordings/log_facts.h"
#include "models/validation/recorded_call.h"

namespace collsim {

/// Where NCCL's log says something else than the machine should have, one sentence each:
/// transports, channels, NICs, NVLS, GPUs and hosts; and its warnings. `compiler` is of the call on
/// the healthy machine.
std::vector<std::string> contradictions(const LogFacts& facts, const CallCompiler& compiler,
                                        const RecordedCall& call);

}  // namespace collsim
