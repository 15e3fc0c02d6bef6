#pragma once

#include <iosfwd>
#include <string>

#include "models/recordings/recording.h"
#include "sim/topologies/topology.h"

namespace collsim::command {

/// The recording that an argument names: a path, the name of a shipped one, or `-` for standard
/// input. Throws InputError.
Recording open_recording(const std::string& argument);

/// The machine of rows that do not name one: the recording's machine, or else the shipped machine
/// with its GPUs, which is then reported on `err`. Throws InputError if none is known.
std::string machine_of_recording(const Recording& recording, std::ostream& err);

/// Throws InputError where the recording cannot be of the machine (contradiction()).
void check_machine(const Recording& recording, const Topology& topology);

}  // namespace collsim::command
