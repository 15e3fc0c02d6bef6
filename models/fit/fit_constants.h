#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/fit/calibration_text.h"
#include "models/fit/parameter.h"
#include "sim/cost/calibration.h"

namespace collsim {

/// Constants of a calibration, of which some are moved. What the file leaves out of a link kind's
/// own constants (`over`) follows the protocol's, as it does where the file is read.
class FitConstants {
 public:
  /// `moved` are fitted; `cost` is what the file says. One that costs nothing there begins at
  /// nominal_value().
  FitConstants(const CalibrationText& file, Calibration cost, std::vector<Parameter> moved);

  /// In the order of logarithms: those of link kinds are the last.
  const std::vector<Parameter>& moved() const { return moved_; }
  /// Logarithms of where they begin.
  std::vector<double> start() const;
  /// The costs with the moved constants at these logarithms, kept in their ranges.
  Calibration at(const std::vector<double>& logarithms) const;
  /// A constant in the costs that the file says; does not count what the search begins at.
  double stated(const Parameter& parameter) const;

 private:
  Calibration cost_;
  std::vector<Parameter> moved_;
  /// Of a link kind, and the protocol's that it follows.
  std::vector<std::pair<Parameter, Parameter>> following_;
};

}  // namespace collsim
