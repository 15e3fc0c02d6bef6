#pragma once

#include <string>
#include <vector>

#include "models/fit/calibration_fit.h"
#include "sim/cost/calibration.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Fitted constants outside plausible_range_of(), each with its value and range in a sentence.
std::vector<std::string> implausible_constants(const CalibrationFit& fit);

/// The share of the links' nominal rate that a large all_reduce of NCCL reaches with these costs:
/// the least time of its plan on perfect links over its predicted time.
double link_share(const Topology& topology, Rank ranks, const Calibration& cost);

/// The objections to a fit: implausible_constants(), and a link_share() below one half between so
/// many ranks. Empty if there are none.
std::vector<std::string> objections_to(const CalibrationFit& fit, const Topology& topology,
                                       Rank ranks, const Calibration& fitted);

}  // namespace collsim
