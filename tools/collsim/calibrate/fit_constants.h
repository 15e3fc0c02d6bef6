#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/cost/calibration.h"
#include "tools/collsim/calibrate/calibration_text.h"
#include "tools/collsim/calibrate/parameter.h"

namespace collsim {

/// Constants of a calibration, of which a fit moves some. If the file leaves out a link kind's own
/// constant (`over`), that follows the protocol's, as it does when the file is read.
class FitConstants {
 public:
  /// `moved` are fitted; `cost` is what the file says. One that costs nothing there begins at
  /// nominal_value().
  FitConstants(const CalibrationText& file, Calibration cost, std::vector<Parameter> moved);

  /// The constants that move, in the order of the logarithms: those of link kinds come last.
  const std::vector<Parameter>& moved() const { return moved_; }
  /// The logarithms of their start values.
  std::vector<double> start() const;
  /// The costs with the moved constants at these logarithms, kept in their ranges.
  Calibration at(const std::vector<double>& logarithms) const;
  /// The value of a constant that the file states, not the one that the search begins at.
  double stated(const Parameter& parameter) const;

 private:
  Calibration cost_;
  std::vector<Parameter> moved_;
  /// Constants of a link kind, each with the protocol's that it follows.
  std::vector<std::pair<Parameter, Parameter>> following_;
};

}  // namespace collsim
