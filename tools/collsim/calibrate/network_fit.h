#pragma once

#include <string_view>

#include "sim/base/units.h"
#include "sim/cost/calibration.h"
#include "tools/collsim/calibrate/calibration_fit.h"
#include "tools/collsim/calibrate/calibration_text.h"
#include "tools/collsim/calibrate/fit_rows.h"

namespace collsim {

/// How far machines over one transport lie from what it says: one standard deviation each.
struct NetworkSpread {
  double rate = 0;    ///< of the logarithm of what NICs carry
  Seconds latency{};  ///< of what every message takes beyond the transport's alphas
  int machines = 0;   ///< that were measured
};

/// Reads models/data/network-spread.yaml, which tools/dev/update-spread writes: of a transport such
/// as `ib`, or else of any. Throws InputError.
NetworkSpread load_network_spread(std::string_view transport);

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
