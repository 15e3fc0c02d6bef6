#pragma once

#include "sim/base/units.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// The textbook's machine in two numbers: `ranks` GPUs, each with a port of `bandwidth` in each
/// direction on a switch that never limits. A message of b bytes takes alpha + b / bandwidth from
/// any rank to any other; messages that leave or enter a rank at the same time share its port. Its
/// calibration is `ideal`. `per_node` ranks make a node, which tells algorithms apart but no
/// messages; the last node has what is left.
Topology alpha_beta_machine(Rank ranks, Seconds alpha, BytesPerSecond bandwidth, Rank per_node = 1);

}  // namespace collsim
