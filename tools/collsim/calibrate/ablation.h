#pragma once

#include <optional>
#include <vector>

#include "models/validation/score.h"
#include "tools/collsim/calibrate/calibration_fit.h"
#include "tools/collsim/calibrate/calibration_text.h"
#include "tools/collsim/calibrate/fit_rows.h"

namespace collsim {

/// The rise of a mean absolute error, as a share, and its standard error. The bootstrap draws whole
/// runs, since the errors of a run's sizes are correlated.
struct ErrorRise {
  double rise = 0;
  double standard_error = 0;
};

/// How much predictions lose if a calibration leaves out a constant and the others are refitted.
struct Ablation {
  Parameter parameter;
  double value = 0;  ///< before it was left out
  ErrorRise all;     ///< of all rows that are held out
  /// The family that loses most, among those that have at least 30 rows and lose more than two
  /// standard errors.
  std::optional<ValidationFamily> family{};
  ErrorRise of_family{};

  /// Whether the constant stays: without it errors rise by 0.2 points over all rows or 1 point in
  /// a family, and by more than two standard errors.
  bool stays() const;
};

/// Leaves out, one by one, each constant that the calibration states and that rows depend on.
/// `fitted` has the fit's values. Each refit starts from them and from the fit's Jacobian, which it
/// only corrects. Throws InputError if no rows are held out.
std::vector<Ablation> ablate(FitRows& rows, const CalibrationText& fitted,
                             const CalibrationFit& fit, const CalibrationFitOptions& options);

/// The rise of one run's absolute errors: their sum, and the number of rows.
struct RunRise {
  double sum = 0;
  double rows = 0;
};
/// The rise of the mean over all rows.
ErrorRise bootstrap(const std::vector<RunRise>& runs);

}  // namespace collsim
