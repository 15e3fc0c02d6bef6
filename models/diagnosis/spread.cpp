#include "models/diagnosis/spread.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>

#include "sim/base/data_directory.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

/// Standard deviation of a normal distribution over the median of its absolute values.
constexpr double deviation_per_median = 1.4826;
/// What rounding leaves of a prediction about which nothing can be wrong.
constexpr double error_of_exact = 0.005;

/// How alike the errors of two predictions are, 0 to 1. The part that is not, a seventh of the
/// variance, is of the size alone: other chunks, another choice.
double likeness(const ResidualPlace& a, const ResidualPlace& b) {
  constexpr double shared = 0.85;
  constexpr double doublings = 6;
  constexpr double other_series = 0.5;
  const double ratio =
      std::log2(static_cast<double>(a.size.count) / static_cast<double>(b.size.count));
  const double near = shared * std::exp(-std::abs(ratio) / doublings);
  return a.series == b.series ? near : other_series * near;
}

}  // namespace

double Spread::noise(Bytes size) const {
  for (const NoiseBand& band : bands) {
    if (size < band.below) return band.noise;
  }
  return rest;
}

double Spread::model_error(Trust trust, Bytes size) const {
  const auto median = error_of(errors, trust, size);
  return median ? deviation_per_median * *median : error_of_exact;
}

double Spread::total(Trust trust, Bytes size) const {
  return std::hypot(model_error(trust, size), noise(size));
}

double Spread::healthy(Trust trust, Bytes size) const {
  constexpr double deviations = 1.96;
  constexpr double deviations_of_small = 2.7;
  return (size >= bandwidth_bound ? deviations : deviations_of_small) * total(trust, size);
}

Spread widened(Spread spread, double times) {
  for (TrustError& error : spread.errors) {
    error.from_16_mib *= times;
    error.below *= times;
  }
  return spread;
}

Spread load_spread() {
  Spread spread;
  spread.errors = load_trust_errors();
  const YamlMapping root =
      load_yaml(shipped_file("noise", "models/data"), "noise").mapping({"bands", "rest"});
  for (const YamlValue& value : root.at("bands").sequence()) {
    const YamlMapping band = value.mapping({"below", "noise"});
    spread.bands.push_back({band.at("below").bytes(), band.at("noise").fraction()});
  }
  spread.rest = root.at("rest").fraction();
  return spread;
}

double log_likelihood(std::span<const double> residuals, std::span<const ResidualPlace> places,
                      const Spread& spread) {
  constexpr double freedom = 5;
  const auto count = static_cast<Eigen::Index>(residuals.size());
  Eigen::MatrixXd covariance(count, count);
  Eigen::VectorXd residual(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const ResidualPlace& a = places[static_cast<std::size_t>(i)];
    residual[i] = residuals[static_cast<std::size_t>(i)];
    const double own = spread.model_error(a.trust, a.size);
    for (Eigen::Index j = 0; j < i; ++j) {
      const ResidualPlace& b = places[static_cast<std::size_t>(j)];
      const double other = spread.model_error(b.trust, b.size);
      covariance(i, j) = covariance(j, i) = own * other * likeness(a, b);
    }
    const double noise = spread.noise(a.size);
    covariance(i, i) = own * own + noise * noise;
  }
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance);
  const Eigen::VectorXd whitened = factor.matrixL().solve(residual);
  double log_determinant = 0;
  for (Eigen::Index i = 0; i < count; ++i)
    log_determinant += 2 * std::log(factor.matrixLLT()(i, i));
  const auto n = static_cast<double>(count);
  return -0.5 * log_determinant -
         0.5 * (freedom + n) * std::log1p(whitened.squaredNorm() / freedom);
}

}  // namespace collsim
