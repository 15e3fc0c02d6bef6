#pragma once

#include "sim/cost/calibration.h"
#include "tools/collsim/calibrate/calibration_fit.h"
#include "tools/collsim/calibrate/calibration_text.h"
#include "tools/collsim/calibrate/fit_rows.h"
#include "tools/collsim/calibrate/network_spread.h"

namespace collsim {

/// Fits what a machine's own network has of its own to rows over several nodes: the rate that its
/// NICs carry (`efficiency.network`, and the copies of proxies where there are any), and a time
/// that every message takes beyond what the start says (added to every `alpha.network`). All else
/// is the start's.
///
/// Both are drawn towards the start by what machines of the kind differ by: the mode of the
/// posterior, with normal distributions of these widths and Cauchy's loss of the rows. Intervals
/// follow from the posterior's curvature. Throws InputError if no row is left to fit to.
CalibrationFit fit_network(FitRows& rows, const CalibrationText& start,
                           const Calibration& start_cost, const NetworkSpread& spread,
                           const CalibrationFitOptions& options);

/// The start's costs where a network carries `rate` times as much, and every message takes
/// `latency` longer; neither beyond what is possible.
Calibration with_network(Calibration cost, double rate, Seconds latency);

}  // namespace collsim
