#pragma once

#include "models/call/call_compiler.h"

namespace collsim {

/// What a call likely takes to simulate, in seconds of one core of 2026, by its workers and its
/// messages. If that is more than `enough`, equal ranks count once: to find them lays the call out,
/// so that they are not looked for where that alone takes longer. Of calls in a row all count: a
/// smaller cluster that simulates all is nearer than the whole that continues the first ones.
double likely_seconds(const CompiledCall& call, double enough);

/// What its workers take of that, whatever the messages.
double likely_seconds_of_layout(const CompiledCall& call);

/// The same of one call alone, every message of which is simulated, each rank by itself.
double likely_seconds_by_message(const CompiledCall& call);

/// Whether likely_seconds() are more: that is seen before all classes of equals are found.
bool takes_longer(const CompiledCall& call, double seconds);

}  // namespace collsim
