#pragma once

#include <cstdint>

#include "sim/execution/execution.h"

namespace collsim {

/// A number that two executions share if nothing that execute() looks at differs: 64 bits of a hash
/// of the programs, the cut, the wires, the costs and what is wrong with the machine.
std::uint64_t hash_of(const Execution& execution);

}  // namespace collsim
