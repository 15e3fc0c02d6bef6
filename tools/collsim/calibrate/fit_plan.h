#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/text_file.h"
#include "sim/cost/calibration.h"
#include "tools/collsim/calibrate/calibration_text.h"
#include "tools/collsim/calibrate/fit_rows.h"

namespace collsim {

/// A recording, and how a fit uses its rows.
struct PlannedRecording {
  std::string file;     ///< as open_recording() takes it; in a plan relative to the plan
  std::string machine;  ///< of rows that do not name theirs; empty: the recording's own
  FitSelection selection{};
};

/// The start values, constants and recordings of a fit.
struct FitPlan {
  std::string name;  ///< of the calibration that it makes
  std::string date;
  std::string trust;       ///< the line of the file that says it; may be empty
  CalibrationText start;   ///< all constants as the search finds them
  CalibrationText stated;  ///< those that the fitted file states: it may extend another one
  Calibration cost{};      ///< of the start
  FitSubject subject = FitSubject::machine;
  std::vector<std::string> constants{};  ///< CalibrationFitOptions::names
  bool of_network = false;               ///< whether fit_network() fits, in place of constants
  std::uint32_t sizes = 8;               ///< CalibrationFitOptions::sizes
  /// CalibrationFitOptions::scale, as wide as machines differ: then each machine counts by the root
  /// of its rows. Not given: as rows of one machine scatter, and rows count alike.
  std::optional<double> scale{};
  double prior = 0;  ///< CalibrationFitOptions::prior
  std::vector<PlannedRecording> recordings{};
};

/// Reads a plan, a calibration with a section `fit` (docs/formats.md). Throws InputError.
FitPlan read_fit_plan(const TextFile& text);

}  // namespace collsim
