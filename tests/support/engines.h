#pragma once

#include <vector>

#include "sim/fabric/engine.h"

namespace collsim::test {

/// The engines that share capacities, which have to agree: native, and simgrid where the build has
/// it.
std::vector<Engine> fair_engines();

}  // namespace collsim::test
