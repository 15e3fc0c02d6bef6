#pragma once

#include <optional>

#include "models/call/call_compiler.h"
#include "models/nccl/user_registration.h"
#include "tools/collsim/explain/explanation.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// What registered user buffers would change of an explained call; nothing for calls that NCCL does
/// not choose how to run.
std::optional<UserRegistration> user_buffers_of(const CallCompiler& compiler,
                                                const Explanation& explanation);

/// Adds it as a sentence or two, and returns it as JSON has it; null where nothing is known.
Record add_user_buffers(const CallCompiler& compiler, const Explanation& explanation,
                        Answer& answer);

}  // namespace collsim::command
