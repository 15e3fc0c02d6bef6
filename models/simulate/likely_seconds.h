#pragma once

#include "models/call/call_compiler.h"

namespace collsim {

/// How long a call likely takes to simulate, on one core of 2026, by its messages, if `share` of
/// its ranks stand for all. Of calls in a row all count: a smaller cluster that simulates all is
/// nearer than the whole that continues the first ones.
double likely_seconds(const CompiledCall& call, double share);

/// Whether a call likely takes longer than that to simulate, equal ranks counted once.
bool takes_longer(const CompiledCall& call, double seconds);

}  // namespace collsim
