#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace collsim {

/// Residuals of a model as a function of its parameters; always as many, all finite.
using ResidualFunction = std::function<std::vector<double>(const std::vector<double>& parameters)>;

struct LeastSquaresOptions {
  /// Residuals beyond this count less and less (Cauchy's loss), so that outliers of a recording
  /// have little influence.
  double scale = 0.05;
  /// Step of the finite differences. Not tiny, because simulated times have small jumps.
  double difference = 0.02;
  std::uint32_t max_steps = 30;
  /// Ends when a step lowers the loss by less than this share.
  double tolerance = 1e-3;
  std::vector<double> weights{};  ///< of the residuals in the loss; empty: 1 each
  /// LeastSquaresFit::jacobian of a similar fit, which saves computing the first; may be empty.
  std::vector<double> jacobian{};
  /// Whether to compute new Jacobians; without them there are no standard errors.
  bool new_jacobians = true;
  /// Called after every step with its number and the loss; returns false to stop early.
  std::function<bool(std::uint32_t step, double loss)> progress{};
};

struct LeastSquaresFit {
  std::vector<double> parameters;
  /// Row by row: how the weighted squares curve with two parameters each, at the end.
  std::vector<double> curvature;
  std::vector<double> jacobian;  ///< of the residuals, parameter by parameter
  double variance = 0;           ///< of the weighted residuals
  double loss = 0;               ///< weighted mean of log(1 + (residual / scale)^2)
  std::uint32_t steps = 0;
};

/// Minimises the mean Cauchy loss of the residuals by Levenberg and Marquardt's method with
/// iteratively reweighted rows (Triggs et al., Bundle adjustment, 2000, section 4.3, first-order
/// correction). A Jacobian by finite differences costs as many evaluations as there are parameters,
/// so each step only updates the previous one (Broyden, Math. Comp. 19, 1965). A new one is
/// computed when steps no longer help. `start` has one value per parameter.
LeastSquaresFit fit_least_squares(const ResidualFunction& residuals,
                                  const std::vector<double>& start,
                                  const LeastSquaresOptions& options = {});

/// The uncertainty of some parameters of a fit, as if the others had been known from the start: one
/// standard deviation of each, from the curvature at the end and the variance of the weighted
/// residuals.
struct Uncertainty {
  std::vector<double> standard_errors;  ///< infinite if nothing depends on it
  std::vector<double> correlations;     ///< row by row
};
Uncertainty uncertainty_of(const LeastSquaresFit& fit, const std::vector<std::size_t>& parameters);

}  // namespace collsim
