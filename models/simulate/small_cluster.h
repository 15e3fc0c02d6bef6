#pragma once

#include <optional>

#include "models/call/call_compiler.h"
#include "models/call/call_spec.h"

namespace collsim {

/// The call on so many of a cluster's ranks (whole nodes, at least two), that represents it: on the
/// first nodes, or, where faults are, on the nodes that they touch and on neighbours of theirs. A
/// touched node takes the place at which it has as many children in both of NCCL's trees over
/// nodes, as nearly as there is one. Nothing where no small cluster is like the whole: where a
/// fault comes or goes during the call, is random, makes ranks late or sits between switches, or
/// touches so many nodes that the small cluster would be more than half of the whole; where ways
/// depend on all flows (Topology::takes_detours()); and where not all nodes have the same GPUs in
/// the call; and of a textbook's call with faults. The whole must outlive who plans for it: what
/// NCCL's search found is taken over.
std::optional<CallSpec> small_cluster(const CallCompiler& whole, Rank ranks = 64);

}  // namespace collsim
