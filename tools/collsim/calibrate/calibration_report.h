#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "models/validation/validation.h"
#include "tools/collsim/calibrate/ablation.h"
#include "tools/collsim/calibrate/calibration_fit.h"
#include "tools/collsim/calibrate/held_out.h"

namespace collsim::command {

/// The result of `collsim calibrate`.
struct CalibrationReport {
  std::string start;  ///< name of the starting calibration
  CalibrationFit fit;
  std::vector<ValidatedRow> used;             ///< with the fitted costs
  std::vector<ValidatedRow> held_out;         ///< with the fitted costs
  std::vector<ValidatedRow> used_before;      ///< `used` with the starting costs
  std::vector<ValidatedRow> held_out_before;  ///< `held_out` with the starting costs
  std::map<std::string, LeftOut> left_out;
  std::vector<std::string> objections;  ///< to the fit, objections_to()

  HeldOutErrors of_held_out() const { return held_out_errors(held_out_before, held_out); }
};

/// Every constant with its value, its starting value, and its interval or why it was kept; pairs
/// that the rows do not distinguish; errors by family and size, marked if systematic; held-out
/// rows.
void print_calibration(const CalibrationReport& report, std::ostream& out);

/// What each constant earns, the least first, and whether it stays.
void print_ablation(std::vector<Ablation> ablations, std::ostream& out);

/// Every constant with its meaning and starting value, and whether the start states it.
void print_constants(const CalibrationText& start, const Calibration& cost, std::ostream& out);

/// Rows that are not used, by reason.
void print_unused(const std::map<std::string, LeftOut>& left_out, std::ostream& out);

}  // namespace collsim::command
