#pragma once

#include <string>
#include <vector>

#include "models/recordings/recording.h"
#include "models/validation/validation.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Rows of a recording that were made on one machine.
struct RecordedMachine {
  std::string topology;  ///< its file or shipped name; empty where the recording does not say
  Recording recording;   ///< what it says of all, with these rows alone
};

/// The rows that are wanted by the machine that the recording says they were made on, in the order
/// of the first row of each. One machine without rows where none is wanted.
std::vector<RecordedMachine> by_machine(const Recording& recording,
                                        const ValidationOptions& options);

/// The shipped machines of one node that have the recorded GPUs, with the least number of them that
/// is enough; none where no machine has. Where the recording does not say how many the machine has,
/// a server of GPUs with NVLink is thought to have 8. Throws InputError where the GPU is not known,
/// or the rows are of several hosts.
std::vector<std::string> shipped_machines_of(const Recording& recording);

/// Why a recording cannot be of a machine that a person named: it was made on other GPUs. Empty
/// where it can be, or where the GPUs of either are not known.
std::string contradiction(const Recording& recording, const Topology& topology);

/// A recording as it is on a machine that a person named. Hosts that the recording does not name,
/// or counts so that the machine cannot have them, are those that so many ranks fill. Rows of more
/// hosts than it has are left out. Notes say so. Throws InputError where no rows are left.
Recording placed_on(Recording recording, const Topology& topology);

}  // namespace collsim
