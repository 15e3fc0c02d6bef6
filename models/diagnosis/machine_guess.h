#pragma once

#include <string>

#include "models/diagnosis/log_facts.h"
#include "models/recordings/recording.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// A machine that a log shows.
struct GuessedMachine {
  std::string name;  ///< of the shipped one, or what it is composed of
  Topology topology;
};

/// The machine that a log is of: what the recording names; else, of one host, the shipped one with
/// its GPUs (shipped_machine_of()); of several, the smallest shipped cluster whose hosts have its
/// GPUs, and as many NICs of the network that NCCL's log names. Where none has, the one with the
/// fewest more NICs is given those that the log names, evenly chosen, and its network. Throws
/// InputError, with what to pass, where it cannot be told.
GuessedMachine guessed_machine(const Recording& recording, const LogFacts& facts);

}  // namespace collsim
