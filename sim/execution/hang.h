#pragma once

#include "sim/execution/call_layout.h"
#include "sim/execution/machine_events.h"

namespace collsim {

/// What to say of a call of which nothing moves any more though programs have not ended. Names the
/// rank that others wait for: one whose bytes stand still, the earliest in its program.
HangError hang_of(const CallLayout& layout);

}  // namespace collsim
