#pragma once

#include <string>
#include <vector>

#include "sim/cost/calibration.h"
#include "sim/topologies/topology.h"
#include "tools/collsim/calibrate/calibration_fit.h"
#include "tools/collsim/diagnose/diagnosis.h"

namespace collsim {

/// Fitted constants whose whole interval lies beyond what is plausible, each with its value and the
/// range in a sentence.
std::vector<std::string> implausible_constants(const CalibrationFit& fit);

/// A large all_reduce of `ranks` ranks with these costs, held against what is expected of such a
/// machine (calibration_for()) as `collsim diagnose` holds a measured time.
DiagnosedSize large_call(const Topology& topology, Rank ranks, const Calibration& cost);

/// The objections to a fit: implausible_constants(), and a large_call() that `collsim diagnose`
/// would call low, or of another machine. Empty if there are none.
std::vector<std::string> objections_to(const CalibrationFit& fit, const Topology& topology,
                                       Rank ranks, const Calibration& fitted);

}  // namespace collsim
