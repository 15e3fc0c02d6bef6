#include "tools/collsim/calibrate/least_squares.h"

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <utility>

namespace collsim {

namespace {

using Vector = Eigen::VectorXd;
using DenseMatrix = Eigen::MatrixXd;

Vector to_eigen(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Eigen::Index>(values.size()));
}

std::vector<double> to_std(const Vector& values) {
  return {values.data(), values.data() + values.size()};
}

/// Parameters that residuals depend on less stay where they are.
double min_curvature(const DenseMatrix& curvature) {
  return 1e-6 * std::max(curvature.diagonal().maxCoeff(), 1e-12);
}

class Fit {
 public:
  Fit(const ResidualFunction& residuals, const LeastSquaresOptions& options)
      : residuals_(residuals), options_(options) {}

  LeastSquaresFit run(const std::vector<double>& start) {
    parameters_ = to_eigen(start);
    row_ = evaluate(parameters_);
    row_weights_ =
        options_.weights.empty() ? Vector::Ones(row_.size()) : to_eigen(options_.weights);
    loss_ = loss(row_);
    if (options_.jacobian.empty()) {
      linearise();
    } else {
      jacobian_ =
          Eigen::Map<const DenseMatrix>(options_.jacobian.data(), row_.size(), parameters_.size());
      weigh();
    }
    std::uint32_t step = 0;
    while (step < options_.max_steps) {
      const double before = loss_;
      const bool better = descend();
      ++step;
      if (options_.progress && !options_.progress(step, loss_)) break;
      if (better && before - loss_ >= options_.tolerance * before) continue;
      if (is_fresh_ || !options_.new_jacobians) break;
      linearise();
    }
    if (!is_fresh_ && options_.new_jacobians) linearise();
    return {to_std(parameters_),
            to_std(Vector(curvature_.reshaped())),
            to_std(Vector(jacobian_.reshaped())),
            variance(),
            loss_,
            step};
  }

 private:
  Vector evaluate(const Vector& parameters) const {
    return to_eigen(residuals_(to_std(parameters)));
  }

  double loss(const Vector& residuals) const {
    const auto rows = (residuals.array() / options_.scale).square().log1p();
    return (row_weights_.array() * rows).sum() / row_weights_.sum();
  }

  /// The Jacobian by forward differences, and the rows' weights.
  void linearise() {
    jacobian_.resize(row_.size(), parameters_.size());
    for (Eigen::Index i = 0; i < parameters_.size(); ++i) {
      Vector moved = parameters_;
      moved[i] += options_.difference;
      jacobian_.col(i) = (evaluate(moved) - row_) / options_.difference;
    }
    weigh();
    is_fresh_ = true;
  }

  void weigh() {
    weights_ = row_weights_.array() / (1 + (row_.array() / options_.scale).square());
    curvature_ = jacobian_.transpose() * weights_.asDiagonal() * jacobian_;
  }

  /// Moves there. The Jacobian then says of this step what was seen.
  void move(const Vector& delta, const Vector& row) {
    const Vector unforeseen = row - row_ - jacobian_ * delta;
    jacobian_ += unforeseen * delta.transpose() / delta.squaredNorm();
    parameters_ += delta;
    row_ = row;
    loss_ = loss(row);
    is_fresh_ = false;
    weigh();
  }

  /// Tries steps from bold to timid until one lowers the loss.
  bool descend() {
    const Vector slope = jacobian_.transpose() * weights_.asDiagonal() * row_;
    constexpr int max_tries = 8;
    for (int attempt = 0; attempt < max_tries; ++attempt) {
      DenseMatrix damped = curvature_;
      damped.diagonal() += damping_ * (curvature_.diagonal().array() + floor()).matrix();
      Vector delta = -damped.ldlt().solve(slope);
      // A parameter that hardly matters must not run away.
      delta = delta.cwiseMax(-largest_move).cwiseMin(largest_move);
      const Vector row = evaluate(parameters_ + delta);
      if (loss(row) < loss_) {
        move(delta, row);
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
  Vector row_weights_;
  Vector weights_;         // with what the loss leaves of each row
  bool is_fresh_ = false;  // whether the Jacobian was made at parameters_
  DenseMatrix jacobian_;
  DenseMatrix curvature_;
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
  const Eigen::Map<const DenseMatrix> whole(fit.curvature.data(), of_fit, of_fit);
  const std::vector<Eigen::Index> chosen(parameters.begin(), parameters.end());
  DenseMatrix curvature = whole(chosen, chosen);
  const double floor = min_curvature(whole);
  const Vector diagonal = curvature.diagonal();
  curvature.diagonal().array() += 1e-6 * floor;
  const DenseMatrix covariance = curvature.inverse() * fit.variance;
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
