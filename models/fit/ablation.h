#pragma once

#include <optional>
#include <vector>

#include "models/fit/calibration_fit.h"
#include "models/fit/calibration_text.h"
#include "models/fit/fit_rows.h"
#include "models/validation/score.h"

namespace collsim {

/// By how much a mean of absolute errors rises, as a share, and its standard error: by a bootstrap
/// that draws whole runs, since the sizes of a run err alike.
struct ErrorRise {
  double rise = 0;
  double standard_error = 0;
};

/// What predictions lose where a calibration does not state a constant and the others are fitted
/// again.
struct Ablation {
  Parameter parameter;
  double value = 0;  ///< that it had
  ErrorRise all;     ///< of all rows that are held out
  /// Of families of at least 30 rows the one that loses most, of those that lose more than two
  /// standard errors.
  std::optional<ValidationFamily> family{};
  ErrorRise of_family{};

  /// Whether the constant earns its place: 0.2 points of all rows, or 1 point of a family, and more
  /// than two standard errors.
  bool stays() const;
};

/// Leaves out each constant that the calibration states and that rows show. `fitted` has the fit's
/// values. Fits again start from them and from the fit's Jacobian, and only correct it. Throws
/// InputError where no rows are held out.
std::vector<Ablation> ablate(FitRows& rows, const CalibrationText& fitted,
                             const CalibrationFit& fit, const CalibrationFitOptions& options);

/// By run, the sums and counts of how much its absolute errors rose.
struct RunRise {
  double sum = 0;
  double rows = 0;
};
/// Of the mean over all rows.
ErrorRise bootstrap(const std::vector<RunRise>& runs);

}  // namespace collsim
