#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/cost/calibration.h"
#include "sim/cost/constants.h"

namespace collsim {

/// One constant of a calibration that can be fitted. Positive; fitted as its logarithm.
struct Parameter {
  std::string name;  ///< its path in the calibration file: "simple.alpha.nvlink"
  Quantity quantity = Quantity::time;
  ConstantRange accepted{};    ///< by a calibration file, in the units of `in`
  ConstantRange plausible{};   ///< of a healthy machine; outside it, the machine was faulty
  std::string_view meaning{};  ///< in a few words
  /// The constant itself, in seconds, bytes per second or as a share.
  std::function<double&(Calibration&)> in{};
};

/// Every constant that can be fitted, in the order of a calibration file.
std::vector<Parameter> fit_parameters();

/// A value as a calibration file says it, to 4 digits: "3.98 us", "29.4 GB/s", "75.6%".
std::string text_of(const Parameter& parameter, double value);
/// The value at which a fit begins if the constant costs nothing in the start file.
double nominal_value(const Parameter& parameter);

}  // namespace collsim
