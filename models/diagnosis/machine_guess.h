#pragma once

#include <string>

#include "models/diagnosis/log_facts.h"
#include "models/recordings/recording.h"

namespace collsim {

/// The shipped machine that a log is of: what the recording names; else, of one host, the one with
/// its GPUs (shipped_machine_of()); of several, the smallest cluster whose hosts have its GPUs, and
/// the NICs that NCCL's log names. Throws InputError, with what to pass, where it cannot be told.
std::string guessed_machine(const Recording& recording, const LogFacts& facts);

}  // namespace collsim
