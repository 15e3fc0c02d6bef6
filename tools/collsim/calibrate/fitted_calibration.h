#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/validation/score.h"
#include "tools/collsim/calibrate/calibration_fit.h"
#include "tools/collsim/calibrate/calibration_text.h"
#include "tools/collsim/calibrate/fit_plan.h"

namespace collsim {

/// The recordings, machine and start that a calibration comes from.
struct Provenance {
  struct Recording {
    std::string file;
    std::size_t rows = 0;  ///< that were used
    std::size_t held_out = 0;
  };
  std::string command;                         ///< that made it
  std::string version;                         ///< of collsim; empty: whatever version has the plan
  std::string topology;                        ///< its name
  std::map<std::string, std::string> machine;  ///< `gpu`, `nccl`, as recorded
  std::vector<Recording> recordings;
};

/// The start file's constants, with fitted values where there are any.
CalibrationText with_fitted(CalibrationText start, const CalibrationFit& fit);

/// A whole calibration file (docs/formats.md): constants, then where they come from. `used` scores
/// the rows that are not held out, `held_out` the others.
std::string fitted_calibration(const FitPlan& plan, const CalibrationFit& fit,
                               const Provenance& provenance, const FamilyScore& used,
                               const FamilyScore& held_out);

/// Why a constant keeps the start file's value; empty if it was fitted or not asked for.
std::string why_kept(const FittedConstant& constant);
/// The 95 % interval of a constant: "3.9 us to 4.06 us".
std::string interval_of(const FittedConstant& constant);

}  // namespace collsim
