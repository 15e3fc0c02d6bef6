#pragma once

#include <cstdint>

#include "sim/execution/call_layout.h"
#include "sim/execution/machine_events.h"

namespace collsim {

/// What to say of a call of which nothing moves any more though programs have not ended. Names the
/// rank that others wait for: one whose bytes stand still, the earliest in its program. `credits`
/// are those of a FIFO.
HangError hang_of(const CallLayout& layout, std::uint32_t credits);

}  // namespace collsim
