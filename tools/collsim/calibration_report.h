#pragma once

#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "models/fit/calibration_fit.h"
#include "models/validation/validation.h"

namespace collsim::command {

/// What `collsim calibrate` found out.
struct CalibrationReport {
  std::string start;  ///< name of the calibration that it began from
  CalibrationFit fit;
  std::vector<ValidatedRow> used;      ///< with the fitted costs
  std::vector<ValidatedRow> held_out;  ///< the same
  std::vector<ValidatedRow> before;    ///< `used` with the start's costs
  std::map<std::string, LeftOut> left_out;
  std::vector<std::string> objections;  ///< to the fit, objections_to()
};

/// Every constant with its value, what it was, and its interval or why it was kept; what cannot be
/// told apart; errors by family and size, marked where they are systematic; held-out rows.
void print_calibration(const CalibrationReport& report, std::ostream& out);

/// Every constant with meaning and present value, and whether the start states it.
void print_constants(const CalibrationText& start, const Calibration& cost, std::ostream& out);

/// Rows that are not used, by the reason.
void print_unused(const std::map<std::string, LeftOut>& left_out, std::ostream& out);

}  // namespace collsim::command
