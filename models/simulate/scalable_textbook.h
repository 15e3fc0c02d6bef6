#pragma once

#include "models/call/call_compiler.h"

namespace collsim {

/// Whether a textbook's call may be represented by one of fewer ranks with as many bytes on every
/// hop: rings, and schedules in which every pair talks, that cut the buffer by ranks. Each further
/// rank is a further step of theirs.
bool is_scalable_textbook(const CallCompiler& compiler);

/// Whether every pair of ranks is a connection of the textbook's schedule: its layout alone takes
/// seconds on hundreds of ranks.
bool joins_every_pair(const CallCompiler& compiler);

/// Messages that a call of a scalable textbook sends, each slice one: known without a plan.
double messages_of_textbook(const CallCompiler& compiler, Bytes size);

}  // namespace collsim
