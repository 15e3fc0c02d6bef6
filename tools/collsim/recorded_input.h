#pragma once

#include <iosfwd>
#include <string>

#include "models/recordings/recording.h"

namespace collsim::command {

/// The recording that an argument names: a path, the bare name of a shipped one, or `-`, standard
/// input. Throws InputError.
Recording open_recording(const std::string& argument);

/// The machine of the rows for which a recording names none of their own: that which it names for
/// all, or else the shipped one with its GPUs, which is said on `err`. Throws InputError where none
/// is known.
std::string machine_of_recording(const Recording& recording, std::ostream& err);

}  // namespace collsim::command
