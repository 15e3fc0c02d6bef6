#include "tools/collsim/calibrate/calibration_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/text.h"
#include "tools/collsim/calibrate/fit_constants.h"
#include "tools/collsim/calibrate/fit_sample.h"
#include "tools/collsim/calibrate/least_squares.h"
#include "tools/collsim/calibrate/parameter.h"

namespace collsim {

namespace {

constexpr double deviations_of_95_percent = 1.96;
constexpr double widest_factor = 2;
constexpr double strong_correlation = 0.95;

/// Drops the least determined parameter again and again, until all others are determined; returns
/// those dropped.
std::vector<std::size_t> undetermined(const LeastSquaresFit& fit) {
  std::vector<std::size_t> kept(fit.parameters.size());
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = i;
  std::vector<std::size_t> dropped;
  const double largest = std::log(widest_factor) / deviations_of_95_percent;
  while (!kept.empty()) {
    const std::vector<double> errors = uncertainty_of(fit, kept).standard_errors;
    const auto worst = std::max_element(errors.begin(), errors.end());
    if (*worst <= largest) break;
    const auto place = kept.begin() + (worst - errors.begin());
    dropped.push_back(*place);
    kept.erase(place);
  }
  return dropped;
}

double cauchy_loss(FitResiduals& residuals, double scale, const std::vector<double>& logarithms) {
  const std::vector<double> rows = residuals(logarithms);
  const std::vector<double> weights = residuals.weights();
  double loss = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double scaled = rows[i] / scale;
    loss += weights[i] * std::log1p(scaled * scaled);
  }
  return loss;
}

/// How far a constant's logarithm may move, alone, before the loss rises by half of what it does at
/// the end of a 95 % interval. At least what its standard error says, and more where the model
/// bends: a cost that another one hides has no effect to one side. Infinite beyond the widest
/// factor.
double reach(const LeastSquaresFit& fit, std::size_t place, double standard_error, double direction,
             FitResiduals& residuals) {
  const double scale = residuals.scale();
  const double deviations = deviations_of_95_percent;
  const double rise = 0.5 * deviations * deviations * fit.variance / (scale * scale);
  const double at_best = cauchy_loss(residuals, scale, fit.parameters);
  for (double shift = deviations * standard_error; shift <= std::log(widest_factor); shift *= 1.4) {
    std::vector<double> moved = fit.parameters;
    moved[place] += direction * shift;
    if (cauchy_loss(residuals, scale, moved) - at_best >= rise) return shift;
  }
  return std::numeric_limits<double>::infinity();
}

class CalibrationSearch {
 public:
  CalibrationSearch(FitRows& rows, const CalibrationText& start, const Calibration& cost,
                    const CalibrationFitOptions& options)
      : machine_{rows, options.threads, options.stop, options.scale, options.prior},
        start_(start),
        cost_(cost),
        options_(options),
        sample_(rows, options.sizes) {
    if (sample_.rows().empty()) {
      throw InputError("no recorded rows are left to fit to", "rows that are not held out");
    }
    const FitConstants stated(start, cost, {});
    for (const Parameter& parameter : fit_parameters()) {
      const double value = stated.stated(parameter);
      result_.constants.push_back({parameter, value, value});
    }
    result_.rows = sample_.rows().size();
  }

  CalibrationFit run() {
    try {
      screen();
      while (!moved_.empty() && !settle()) {
      }
    } catch (const FitStopped&) {
      result_.stopped = true;
    }
    return std::move(result_);
  }

 private:
  FittedConstant& constant(const Parameter& parameter) {
    return *std::find_if(
        result_.constants.begin(), result_.constants.end(),
        [&](const FittedConstant& each) { return each.parameter.name == parameter.name; });
  }

  std::vector<Parameter> candidates() const {
    if (!options_.names.empty()) return parameters_named(options_.names);
    std::vector<Parameter> stated;
    for (const FittedConstant& each : result_.constants) {
      const bool costs = each.start > 0 && std::isfinite(each.start);
      if (costs && start_.states(each.parameter.name)) stated.push_back(each.parameter);
    }
    return stated;
  }

  void say(const std::string& what) const {
    if (options_.progress) options_.progress(what);
  }

  /// Leaves the constants that matter to some row: the others have a column of zeros.
  void screen() {
    const FitConstants constants(start_, cost_, candidates());
    starts_ = constants.start();
    moved_ = constants.moved();
    FitResiduals residuals(machine_, sample_, constants);
    LeastSquaresOptions options;
    options.weights = residuals.weights();
    options.scale = options_.scale;
    options.max_steps = 0;
    std::size_t evaluations = 0;
    const auto counted = [&](const std::vector<double>& logarithms) {
      say(fmt::format("which constants matter: {} of {}", evaluations++, starts_.size()));
      return residuals(logarithms);
    };
    const std::vector<double> jacobian = fit_least_squares(counted, starts_, options).jacobian;
    std::vector<std::size_t> hidden;
    for (std::size_t i = 0; i < moved_.size(); ++i) {
      const std::vector<double> column = column_of(jacobian, i, moved_.size());
      if (std::any_of(column.begin(), column.end(), [](double slope) { return slope != 0; })) {
        // With a prior the next Jacobian has other rows: one for each constant that is left.
        if (options_.prior <= 0) jacobian_.insert(jacobian_.end(), column.begin(), column.end());
      } else {
        constant(moved_[i]).determination = Determination::hidden;
        hidden.push_back(i);
      }
    }
    leave_out(hidden);
  }

  /// What the sampled rows, without a prior's behind them, do when the constant moves.
  std::vector<double> column_of(const std::vector<double>& jacobian, std::size_t constant,
                                std::size_t constants) const {
    const std::size_t length = jacobian.size() / constants;
    const auto column = jacobian.begin() + static_cast<std::ptrdiff_t>(constant * length);
    return {column, column + static_cast<std::ptrdiff_t>(sample_.rows().size())};
  }

  void leave_out(std::vector<std::size_t> places) {
    std::sort(places.rbegin(), places.rend());
    for (const std::size_t place : places) {
      const auto offset = static_cast<std::ptrdiff_t>(place);
      moved_.erase(moved_.begin() + offset);
      starts_.erase(starts_.begin() + offset);
    }
  }

  /// Fits what is left; true where all of it is determined.
  bool settle() {
    const FitConstants constants(start_, cost_, moved_);
    FitResiduals residuals(machine_, sample_, constants);
    try {
      LeastSquaresOptions options;
      options.weights = residuals.weights();
      options.scale = options_.scale;
      options.jacobian = std::exchange(jacobian_, {});
      options.progress = [&](std::uint32_t step, double loss) {
        ++result_.steps;
        say(fmt::format("{} constants, {} rows: step {}, loss {:.4f}", moved_.size(),
                        sample_.rows().size(), step, loss));
        return true;
      };
      const LeastSquaresFit fit = fit_least_squares(std::ref(residuals), starts_, options);
      return take(fit, residuals);
    } catch (const FitStopped&) {
      if (!residuals.best().empty()) take_values(residuals.best());
      throw;
    }
  }

  void take_values(const std::vector<double>& logarithms) {
    const FitConstants constants(start_, cost_, moved_);
    Calibration cost = constants.at(logarithms);
    for (const Parameter& parameter : moved_) {
      FittedConstant& each = constant(parameter);
      each.value = parameter.in(cost);
      each.determination = Determination::fitted;
    }
  }

  bool take(const LeastSquaresFit& fit, FitResiduals& residuals) {
    take_values(fit.parameters);
    std::vector<std::size_t> all(moved_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    const Uncertainty uncertainty = uncertainty_of(fit, all);
    std::vector<std::size_t> dropped = undetermined(fit);
    std::vector<std::size_t> kept;
    for (const std::size_t i : all) {
      const double width = deviations_of_95_percent * uncertainty.standard_errors[i];
      set_interval(moved_[i], {width, width});
      if (std::find(dropped.begin(), dropped.end(), i) == dropped.end()) kept.push_back(i);
    }
    // From now on those that are dropped are known.
    const std::vector<double> errors = uncertainty_of(fit, kept).standard_errors;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const Interval interval{reach(fit, kept[i], errors[i], -1, residuals),
                              reach(fit, kept[i], errors[i], 1, residuals)};
      set_interval(moved_[kept[i]], interval);
      if (std::isinf(interval.below) || std::isinf(interval.above)) dropped.push_back(kept[i]);
    }
    for (const std::size_t i : dropped) {
      FittedConstant& each = constant(moved_[i]);
      each.value = each.start;
      each.determination = Determination::undetermined;
    }
    if (dropped.empty()) {
      name_pairs(uncertainty);
      result_.moved = moved_;
      result_.jacobian.clear();
      for (const std::size_t i : all) {
        const std::vector<double> column = column_of(fit.jacobian, i, all.size());
        result_.jacobian.insert(result_.jacobian.end(), column.begin(), column.end());
      }
    }
    starts_ = fit.parameters;
    leave_out(dropped);
    return dropped.empty();
  }

  /// In logarithms, from the best on.
  struct Interval {
    double below;
    double above;
  };

  void set_interval(const Parameter& parameter, const Interval& interval) {
    FittedConstant& each = constant(parameter);
    const ConstantRange range = parameter.accepted;
    each.min = std::max(range.min, each.value / std::exp(interval.below));
    each.max = std::min(range.max, each.value * std::exp(interval.above));
  }

  void name_pairs(const Uncertainty& uncertainty) {
    const std::size_t count = moved_.size();
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = i + 1; j < count; ++j) {
        const double correlation = uncertainty.correlations[i * count + j];
        if (std::abs(correlation) <= strong_correlation) continue;
        result_.correlated.push_back({moved_[i].name, moved_[j].name, correlation});
      }
    }
  }

  FitMachine machine_;
  const CalibrationText& start_;
  const Calibration& cost_;
  const CalibrationFitOptions& options_;
  FitSample sample_;
  std::vector<Parameter> moved_;
  std::vector<double> starts_;
  std::vector<double> jacobian_;  // of moved_ at starts_, once
  CalibrationFit result_;
};

}  // namespace

std::vector<Parameter> parameters_named(const std::vector<std::string>& names) {
  std::vector<Parameter> parameters = fit_parameters();
  for (const std::string& name : names) {
    const auto is_meant = [&](const Parameter& each) { return matches(name, each.name); };
    if (std::any_of(parameters.begin(), parameters.end(), is_meant)) continue;
    throw InputError(fmt::format("no constant is called '{}'", name),
                     "names or patterns such as launch, simple.*, *.alpha.nvlink; --list has all");
  }
  std::erase_if(parameters, [&](const Parameter& each) {
    return std::none_of(names.begin(), names.end(),
                        [&](const std::string& name) { return matches(name, each.name); });
  });
  return parameters;
}

CalibrationFit fit_calibration(FitRows& rows, const CalibrationText& start,
                               const Calibration& start_cost,
                               const CalibrationFitOptions& options) {
  return CalibrationSearch(rows, start, start_cost, options).run();
}

}  // namespace collsim
