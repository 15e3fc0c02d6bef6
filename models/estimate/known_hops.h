#pragma once

#include "models/estimate/stripe_hops.h"
#include "models/estimate/tree_shapes.h"
#include "models/machine/known_ways.h"

namespace collsim {

/// Remembers the hops of a call, for estimates that differ by faults alone. Not for several threads
/// at once.
struct KnownHops {
  KnownWays ways;        ///< of algorithms whose hops are laid anew for each machine
  KnownStripes stripes;  ///< of those that are laid once
  KnownTrees trees;      ///< of those that faults do not lay otherwise
};

}  // namespace collsim
