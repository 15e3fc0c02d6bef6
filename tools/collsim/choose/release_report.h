#pragma once

#include <string>

#include "models/nccl/choice.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/report/answer.h"

namespace collsim::command {

/// Where two releases of NCCL choose unlike for calls of one machine, by collective and size, and
/// what each choice is predicted to take. `variables`: of both. Without the topology, which a
/// prediction needs, there are no times.
Answer compare_releases(const Nccl& one, const Nccl& other, const Topology* topology,
                        const Nccl::Variables& variables, const std::string& name);

}  // namespace collsim::command
