#pragma once

#include <string>
#include <vector>

#include "models/recordings/recording.h"
#include "models/validation/validation.h"

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

/// The shipped machine of one node that has the recorded GPUs, by model and number. Where the
/// recording does not say how many the machine has, a server of GPUs with NVLink is thought to have
/// 8, or the next larger number that is shipped. Throws InputError where the GPU is not known, the
/// network is not, or not exactly one machine fits.
std::string shipped_machine_of(const Recording& recording);

}  // namespace collsim
