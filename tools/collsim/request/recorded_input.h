#pragma once

#include <iosfwd>
#include <string>

#include "models/recordings/log_facts.h"
#include "models/recordings/recording.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/request/machine_guess.h"

namespace collsim::command {

/// A recording, and what else its text says of its machine.
struct RecordedInput {
  Recording recording;
  LogFacts facts;
};

/// The recording that an argument names: a path, the name of a shipped one, or `-` for standard
/// input. Throws InputError.
RecordedInput open_recording(const std::string& argument);

/// The release of NCCL that a recording, or else its log, says; may be empty.
std::string release_in(const Recording& recording, const LogFacts& facts);

/// The machine of rows that do not name one: the recording's machine, or else the one that it shows
/// (guessed_machine()), which is then reported on `err`. Throws InputError if none can be told.
Topology machine_of_recording(const RecordedInput& input, std::ostream& err);

/// Says on `err` which machine a log was taken to be of, what was guessed of it, and, where it was
/// put together, of what.
void report_guess(const Recording& recording, const GuessedMachine& guessed, std::ostream& err);

/// Throws InputError where the recording cannot be of the machine (contradiction()).
void check_machine(const Recording& recording, const Topology& topology);

}  // namespace collsim::command
