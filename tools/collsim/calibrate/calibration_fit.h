#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/cost/calibration.h"
#include "tools/collsim/calibrate/calibration_text.h"
#include "tools/collsim/calibrate/fit_rows.h"
#include "tools/collsim/calibrate/parameter.h"

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
  double value = 0;  ///< fitted; else the start
  /// 95 % interval, if the fit was not stopped and the constant is fitted or undetermined.
  double min = 0;
  double max = 0;
  Determination determination = Determination::not_asked;
};

/// Two fitted constants that the rows can hardly tell apart.
struct CorrelatedPair {
  std::string first;
  std::string second;
  double correlation = 0;
};

struct CalibrationFit {
  std::vector<FittedConstant> constants;  ///< all, in the order of fit_parameters()
  std::vector<CorrelatedPair> correlated;
  std::size_t rows = 0;            ///< that it was fitted to; none is held out
  std::vector<Parameter> moved{};  ///< the fitted ones, in the order of the Jacobian
  std::vector<double> jacobian{};  ///< of the rows' residuals, constant by constant
  std::uint32_t steps = 0;
  bool stopped = false;  ///< early: the best so far, without intervals
  /// Why it may be worth little, each a sentence; of fit_network() alone.
  std::vector<std::string> cautions{};
};

struct CalibrationFitOptions {
  /// Names or patterns of the constants to fit. If empty: all that the start file states and that
  /// some row depends on.
  std::vector<std::string> names{};
  /// How many sizes to fit to, per call, algorithm and protocol (FitSample); 0: all.
  std::uint32_t sizes = 8;
  std::uint32_t threads = 1;
  /// The width of Cauchy's loss: residuals beyond it count less and less. It is as wide as rows of
  /// one machine scatter, or as machines differ: a narrow one would follow most rows, not lie
  /// between machines.
  double scale = 0.05;
  /// One standard deviation of each constant about its start, of its logarithm, before any row is
  /// known: what few rows hardly tell then stays near the start. 0: nothing is known before.
  double prior = 0;
  /// Called before every simulation; if it returns true, the fit ends with what it has.
  std::function<bool()> stop{};
  /// Called with a text that says what is being done.
  std::function<void(const std::string&)> progress{};
};

/// Fits constants of a calibration to recorded times, by robust least squares. Residuals are
/// log(predicted / measured); parameters are the logarithms of the constants. Drops the least
/// determined constants one by one, which keep the start file's value, and refits the others.
/// Throws InputError if no row is left to fit to, or a name fits no constant.
CalibrationFit fit_calibration(FitRows& rows, const CalibrationText& start,
                               const Calibration& start_cost, const CalibrationFitOptions& options);

/// The parameters that match names or patterns, in the order of fit_parameters(). Throws
/// InputError.
std::vector<Parameter> parameters_named(const std::vector<std::string>& names);

}  // namespace collsim
