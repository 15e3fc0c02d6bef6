#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/fit/calibration_text.h"
#include "models/fit/fit_rows.h"
#include "models/fit/parameter.h"
#include "sim/cost/calibration.h"

namespace collsim {

/// What became of a constant.
enum class Determination : std::uint8_t {
  fitted,
  hidden,        ///< no row's prediction depends on it
  undetermined,  ///< its interval is wider than a factor of 2 each way
  not_asked,
};

struct FittedConstant {
  Parameter parameter;
  double start = 0;  ///< what the start file says, in the units of Parameter::in
  double value = 0;  ///< the start but where it was fitted
  /// 95 % interval; where it was fitted to the end or is undetermined.
  double least = 0;
  double most = 0;
  Determination determination = Determination::not_asked;
};

/// Two fitted constants that the rows tell apart badly.
struct CorrelatedPair {
  std::string first;
  std::string second;
  double correlation = 0;
};

struct CalibrationFit {
  std::vector<FittedConstant> constants;  ///< all, in the order of fit_parameters()
  std::vector<CorrelatedPair> correlated;
  std::size_t rows = 0;            ///< fitted to, of those that are not held out
  std::vector<Parameter> moved{};  ///< the fitted ones, in the order of the Jacobian
  std::vector<double> jacobian{};  ///< of the rows' residuals, constant by constant
  std::uint32_t steps = 0;
  bool stopped = false;  ///< before its end: the best so far, without intervals
};

struct CalibrationFitOptions {
  /// Names or patterns of the constants to fit; where empty, all that the start file states and
  /// that some row depends on.
  std::vector<std::string> names{};
  /// Sizes of each way of running each call that are fitted to (FitSample); 0: all.
  std::uint32_t sizes = 8;
  std::uint32_t threads = 1;
  /// Asked before every simulation; where true, the fit ends with what it has.
  std::function<bool()> stop{};
  /// Told what is being done.
  std::function<void(const std::string&)> progress{};
};

/// Fits constants of a calibration to recorded times, by robust least squares of the logarithms of
/// predicted over measured times over the logarithms of the constants. What the rows do not
/// determine stays as the start file has it, one by one from the least determined on, and what is
/// left is fitted again. Throws InputError where no row is left to fit to, or a name fits no
/// constant.
CalibrationFit fit_calibration(FitRows& rows, const CalibrationText& start,
                               const Calibration& start_cost, const CalibrationFitOptions& options);

/// The parameters that names or patterns mean, in the order of fit_parameters(). Throws InputError.
std::vector<Parameter> parameters_named(const std::vector<std::string>& names);

}  // namespace collsim
