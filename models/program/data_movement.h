#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/program/call_program.h"

namespace collsim {

/// Where a program moves its tensors.
struct DataVerdict {
  std::size_t ranks = 0;             ///< that want something
  std::size_t moves = 0;             ///< slices that ranks pass on
  std::vector<std::string> wrong{};  ///< the first of all faults, causes before what they cause
  std::size_t wrong_count = 0;
};

/// Proves of a program that cannot hang (check_call_order()) that every rank holds what it passes
/// on when it does so, whatever the times are, and in the end all that it wants. Only what comes
/// before on a rank counts: ops earlier on the stream, those that an op comes `after`, and those
/// that the host has waited for. Says also where the ends of a call disagree on what it moves.
DataVerdict check_data(const CallProgram& program);

}  // namespace collsim
