#pragma once

#include <optional>
#include <vector>

#include "sim/topologies/topology.h"

namespace collsim {

/// A rooted tree over ranks 0 to N-1: parent[r] is nothing for the root only.
struct RootedTree {
  std::vector<std::optional<Rank>> parent;

  Rank size() const { return static_cast<Rank>(parent.size()); }
};

}  // namespace collsim
