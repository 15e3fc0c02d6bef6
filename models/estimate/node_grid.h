#pragma once

#include <optional>

#include "models/call/call_compiler.h"

namespace collsim {

/// Nodes that all have the same of their GPUs in a call, whose ranks follow each other.
struct NodeGrid {
  Rank nodes = 0;
  Rank per_node = 0;  ///< ranks
};

/// Nothing where the nodes of the call are not so, or not of one template.
std::optional<NodeGrid> grid_of(const CallCompiler& compiler);

}  // namespace collsim
