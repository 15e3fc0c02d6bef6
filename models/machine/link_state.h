#pragma once

#include <map>

#include "sim/base/units.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// What is wrong with a link at one instant.
struct LinkState {
  double share = 1;  ///< of its bandwidth that is left to us; 0: nothing moves
  Seconds latency;
  Seconds jitter;
  bool avoided = false;  ///< dead, and noticed

  /// What it adds to a message on average: of the jitter, half.
  Seconds mean_delay() const { return latency + 0.5 * jitter; }
};

/// Links that any fault names, and what is wrong with each at one instant.
using LinkStates = std::map<LinkId, LinkState>;

}  // namespace collsim
