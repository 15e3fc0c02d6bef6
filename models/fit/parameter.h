#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/cost/calibration.h"

namespace collsim {

/// What a constant's number means.
enum class Quantity : std::uint8_t { time, rate, share };

/// One constant of a cost model that can be fitted. Positive; fitted as its logarithm.
struct Parameter {
  std::string name;  ///< its way through the calibration file: "simple.alpha.nvlink"
  Quantity quantity = Quantity::time;
  /// Where it stands, in seconds, bytes per second or as a share.
  std::function<double&(Calibration&)> in;
};

/// Every constant that can be fitted, in the order of a calibration file.
std::vector<Parameter> fit_parameters();

}  // namespace collsim
