#pragma once

#include <iosfwd>
#include <optional>

#include "models/call/call_compiler.h"
#include "models/nccl/user_registration.h"
#include "tools/collsim/explain/explanation.h"
#include "tools/collsim/report/records.h"

namespace collsim::command {

/// What registered user buffers would change of an explained call; nothing for calls that NCCL does
/// not choose how to run.
std::optional<UserRegistration> user_buffers_of(const CallCompiler& compiler,
                                                const Explanation& explanation);

/// As a sentence or two, with an empty line before.
void print_user_buffers(const CallCompiler& compiler, const Explanation& explanation,
                        std::ostream& out);

/// As JSON has it; null where nothing is known.
Record user_buffers_record(const CallCompiler& compiler, const Explanation& explanation);

}  // namespace collsim::command
