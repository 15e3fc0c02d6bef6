#include "models/fit/least_squares.h"

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace collsim {

namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

Vector to_eigen(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
}

std::vector<double> to_std(const Vector& values) {
  return {values.data(), values.data() + values.size()};
}

/// Parameters that residuals depend on less stay where they are.
double min_curvature(const Matrix& curvature) {
  return 1e-6 * std::max(curvature.diagonal().maxCoeff(), 1e-12);
}

class Fit {
 public:
  Fit(const ResidualFunction& residuals, const LeastSquaresOptions& options)
      : residuals_(residuals), options_(options) {}

  LeastSquaresFit run(const std::vector<double>& start) {
    parameters_ = to_eigen(start);
    row_ = evaluate(parameters_);
    loss_ = loss(row_);
    std::uint32_t step = 0;
    while (step < options_.max_steps) {
      linearise();
      const double before = loss_;
      const bool better = descend();
      ++step;
      if (options_.progress && !options_.progress(step, loss_)) break;
      if (!better || before - loss_ < options_.tolerance * before) break;
    }
    linearise();
    LeastSquaresFit fit{to_std(parameters_), {},    to_std(Vector(curvature_.reshaped())),
                        variance(),          loss_, step};
    std::vector<std::size_t> all(fit.parameters.size());
    std::iota(all.begin(), all.end(), 0);
    fit.standard_errors = uncertainty_of(fit, all).standard_errors;
    return fit;
  }

 private:
  Vector evaluate(const Vector& parameters) const {
    return to_eigen(residuals_(to_std(parameters)));
  }

  double loss(const Vector& residuals) const {
    return (residuals.array() / options_.scale).square().log1p().mean();
  }

  /// The Jacobian by forward differences, and the rows' weights.
  void linearise() {
    jacobian_.resize(row_.size(), parameters_.size());
    for (Eigen::Index i = 0; i < parameters_.size(); ++i) {
      Vector moved = parameters_;
      moved[i] += options_.difference;
      jacobian_.col(i) = (evaluate(moved) - row_) / options_.difference;
    }
    weights_ = (1 + (row_.array() / options_.scale).square()).inverse();
    curvature_ = jacobian_.transpose() * weights_.asDiagonal() * jacobian_;
  }

  /// Tries steps from bold to timid until one lowers the loss.
  bool descend() {
    const Vector slope = jacobian_.transpose() * weights_.asDiagonal() * row_;
    constexpr int max_tries = 8;
    for (int attempt = 0; attempt < max_tries; ++attempt) {
      Matrix damped = curvature_;
      damped.diagonal() += damping_ * (curvature_.diagonal().array() + floor()).matrix();
      Vector delta = -damped.ldlt().solve(slope);
      // A parameter that hardly matters must not run away.
      delta = delta.cwiseMax(-largest_move).cwiseMin(largest_move);
      const Vector candidate = parameters_ + delta;
      const Vector row = evaluate(candidate);
      if (loss(row) < loss_) {
        parameters_ = candidate;
        row_ = row;
        loss_ = loss(row);
        damping_ = std::max(damping_ / 4, 1e-6);
        return true;
      }
      damping_ *= 4;
    }
    return false;
  }

  double floor() const { return min_curvature(curvature_); }

  double variance() const {
    const double freedom =
        std::max<double>(1, static_cast<double>(row_.size() - parameters_.size()));
    return (weights_.array() * row_.array().square()).sum() / freedom;
  }

  static constexpr double largest_move = 0.7;

  const ResidualFunction& residuals_;
  const LeastSquaresOptions& options_;
  Vector parameters_;
  Vector row_;  // residuals at parameters_
  Vector weights_;
  Matrix jacobian_;
  Matrix curvature_;
  double loss_ = 0;
  double damping_ = 1e-2;
};

}  // namespace

LeastSquaresFit fit_least_squares(const ResidualFunction& residuals,
                                  const std::vector<double>& start,
                                  const LeastSquaresOptions& options) {
  return Fit(residuals, options).run(start);
}

Uncertainty uncertainty_of(const LeastSquaresFit& fit, const std::vector<std::size_t>& parameters) {
  const auto of_fit = static_cast<Eigen::Index>(fit.parameters.size());
  const auto count = static_cast<Eigen::Index>(parameters.size());
  const Eigen::Map<const Matrix> whole(fit.curvature.data(), of_fit, of_fit);
  const std::vector<Eigen::Index> chosen(parameters.begin(), parameters.end());
  Matrix curvature = whole(chosen, chosen);
  const double floor = min_curvature(whole);
  const Vector diagonal = curvature.diagonal();
  curvature.diagonal().array() += 1e-6 * floor;
  const Matrix covariance = curvature.inverse() * fit.variance;
  Uncertainty uncertainty;
  for (Eigen::Index i = 0; i < count; ++i) {
    uncertainty.standard_errors.push_back(diagonal[i] > floor
                                              ? std::sqrt(std::max(0.0, covariance(i, i)))
                                              : std::numeric_limits<double>::infinity());
    for (Eigen::Index j = 0; j < count; ++j) {
      const double scale = std::sqrt(covariance(i, i) * covariance(j, j));
      uncertainty.correlations.push_back(scale > 0 ? covariance(i, j) / scale : 0);
    }
  }
  return uncertainty;
}

}  // namespace collsim
