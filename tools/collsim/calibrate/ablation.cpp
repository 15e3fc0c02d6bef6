#include "tools/collsim/calibrate/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>

#include "sim/base/input_error.h"
#include "tools/collsim/calibrate/fit_constants.h"
#include "tools/collsim/calibrate/fit_sample.h"
#include "tools/collsim/calibrate/least_squares.h"
#include "tools/collsim/calibrate/whole_calibration.h"

namespace collsim {

namespace {

constexpr double significant = 2;  // standard errors

bool is_significant(const ErrorRise& each, double least) {
  return each.rise >= least && each.rise > significant * each.standard_error;
}

/// Of some of the rows; `rises` are of all.
ErrorRise rise_of(const std::vector<const ValidatedRow*>& members,
                  const std::vector<ValidatedRow>& all, const std::vector<double>& rises) {
  using Run = std::tuple<std::string, std::string, ValidationFamily>;
  std::map<Run, RunRise> runs;
  for (const ValidatedRow* row : members) {
    RunRise& run = runs[{row->recorded.file, row->recorded.id, family_of(*row)}];
    run.sum += rises[static_cast<std::size_t>(row - all.data())];
    ++run.rows;
  }
  std::vector<RunRise> values;
  values.reserve(runs.size());
  for (const auto& [key, run] : runs) values.push_back(run);
  return bootstrap(values);
}

/// The costs where the text does not state a constant; none where it has to.
std::optional<Calibration> read_without(const CalibrationText& text) {
  try {
    return cost_of(text);
  } catch (const InputError&) {
    return std::nullopt;  // host memory and proxies are stated whole
  }
}

class Ablations {
 public:
  Ablations(FitRows& rows, const CalibrationText& fitted, const CalibrationFit& fit,
            const CalibrationFitOptions& options)
      : rows_(rows), fitted_(fitted), fit_(fit), options_(options), sample_(rows, options.sizes) {
    before_ = held_out(cost_of(fitted));
    for (const ValidatedRow& row : before_) all_.push_back(&row);
    families_ = by_family(before_, family_of_any_channels);
  }

  /// Empty where no row shows the constant.
  std::optional<Ablation> without(const FittedConstant& constant) {
    CalibrationText text = fitted_;
    text.erase(constant.parameter.name);
    const std::optional<Calibration> cost = read_without(text);
    if (!cost || !is_shown(held_out(*cost))) return std::nullopt;
    const auto after = held_out(fit_again(text, *cost, constant.parameter.name));
    std::vector<double> rises;
    for (std::size_t i = 0; i < after.size(); ++i) {
      rises.push_back(std::abs(after[i].error()) - std::abs(before_[i].error()));
    }
    Ablation ablation{constant.parameter, constant.value, rise_of(all_, before_, rises)};
    find_worst_family(rises, ablation);
    return ablation;
  }

 private:
  std::vector<ValidatedRow> held_out(const Calibration& cost) const {
    std::vector<std::size_t> points(rows_.points().size());
    std::iota(points.begin(), points.end(), 0);
    return rows_.validated(rows_.times(cost, points, options_.threads, options_.stop), true);
  }

  bool is_shown(const std::vector<ValidatedRow>& rows) const {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].predicted != before_[i].predicted) return true;
    }
    return false;
  }

  void find_worst_family(const std::vector<double>& rises, Ablation& ablation) const {
    constexpr std::size_t min_rows = 30;
    for (const auto& [family, members] : families_) {
      const ErrorRise rise = rise_of(members, before_, rises);
      if (members.size() < min_rows || rise.rise <= ablation.of_family.rise) continue;
      if (!is_significant(rise, 0)) continue;
      ablation.family = family;
      ablation.of_family = rise;
    }
  }

  Calibration fit_again(const CalibrationText& text, const Calibration& cost,
                        const std::string& left_out) {
    std::vector<Parameter> moved;
    LeastSquaresOptions options;
    const auto rows = static_cast<std::ptrdiff_t>(sample_.rows().size());
    for (std::size_t i = 0; i < fit_.moved.size(); ++i) {
      if (fit_.moved[i].name == left_out) continue;
      moved.push_back(fit_.moved[i]);
      const auto column = fit_.jacobian.begin() + static_cast<std::ptrdiff_t>(i) * rows;
      options.jacobian.insert(options.jacobian.end(), column, column + rows);
    }
    if (moved.empty()) return cost;
    const FitConstants constants(text, cost, moved);
    FitResiduals residuals({rows_, options_.threads, options_.stop, options_.scale}, sample_,
                           constants);
    options.weights = residuals.weights();
    options.scale = options_.scale;
    options.new_jacobians = false;
    return constants.at(
        fit_least_squares(std::ref(residuals), constants.start(), options).parameters);
  }

  FitRows& rows_;
  const CalibrationText& fitted_;
  const CalibrationFit& fit_;
  const CalibrationFitOptions& options_;
  FitSample sample_;
  std::vector<ValidatedRow> before_;  // held out, with the constant
  std::vector<const ValidatedRow*> all_;
  std::map<ValidationFamily, std::vector<const ValidatedRow*>> families_;
};

}  // namespace

bool Ablation::stays() const {
  return is_significant(all, 0.002) || is_significant(of_family, 0.01);
}

ErrorRise bootstrap(const std::vector<RunRise>& runs) {
  const auto mean = [](const RunRise& of) { return of.rows > 0 ? of.sum / of.rows : 0; };
  RunRise whole;
  for (const RunRise& each : runs) {
    whole.sum += each.sum;
    whole.rows += each.rows;
  }
  constexpr std::size_t draws = 400;
  std::mt19937 random(1);  // the same on every machine
  double squares = 0;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    RunRise drawn;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const RunRise& each = runs[random() % runs.size()];
      drawn.sum += each.sum;
      drawn.rows += each.rows;
    }
    squares += std::pow(mean(drawn) - mean(whole), 2);
  }
  return {mean(whole), std::sqrt(squares / draws)};
}

std::vector<Ablation> ablate(FitRows& rows, const CalibrationText& fitted,
                             const CalibrationFit& fit, const CalibrationFitOptions& options) {
  Ablations ablations(rows, fitted, fit, options);
  std::vector<Ablation> all;
  for (std::size_t i = 0; i < fit.constants.size(); ++i) {
    const FittedConstant& constant = fit.constants[i];
    if (!fitted.states(constant.parameter.name)) continue;
    if (options.progress) options.progress(fmt::format("without {}", constant.parameter.name));
    if (auto ablation = ablations.without(constant)) all.push_back(std::move(*ablation));
  }
  return all;
}

}  // namespace collsim
