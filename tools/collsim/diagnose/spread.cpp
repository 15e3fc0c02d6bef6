#include "tools/collsim/diagnose/spread.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "sim/base/data_directory.h"
#include "sim/base/root_of_squares.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

/// What rounding leaves of a prediction about which nothing can be wrong.
constexpr double error_of_exact = 0.005;

/// How alike the errors of two predictions are, 0 to 1. Of 159 published runs that are not called
/// degraded, errors of sizes that are one doubling apart correlate by 0.8 to 0.9, five by 0.4 to
/// 0.7, nine by 0.2 to 0.5, and fifteen by 0.1 to 0.3. The part that no size shares is of the size
/// alone: other chunks, another choice.
double likeness(const ResidualPlace& a, const ResidualPlace& b) {
  constexpr double shared = 0.92;
  constexpr double doublings = 8;
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

namespace {

/// Of a normal distribution, in standard deviations: what a tenth of all values are above, and what
/// a twentieth is.
constexpr double nine_of_ten = 1.2816;
constexpr double nineteen_of_twenty = 1.645;
/// Chosen for small calls: hardly one in a hundred is slower than that.
constexpr double nearly_all = 2.7;
/// A process that drives eight GPUs, or a benchmark with a barrier before each call, makes healthy
/// small calls take up to 2.2 times as long (recordings/published, *-1proc-* and *-torch-*).
constexpr double min_alarm_of_small = 2.5;
/// However wide the range, no published run whose source finds nothing wrong has less than 0.33 of
/// the expected busbw from 16 MiB on; of small ones single sizes have a tenth.
constexpr double max_alarm = 3;
constexpr double max_alarm_of_small = 10;
/// Over InfiniBand most large calls are nearer than the range says, as a share of its logarithm:
/// all 17 published runs of NCCL 2.18 and later have 0.91 of the expected busbw and more. Those of
/// 2.8.4, which are off by up to 3 times, make the range.
constexpr double share_of_most = 0.35;
}  // namespace

SidedError Spread::sided_error(Trust trust, const Medium& medium, Bytes size) const {
  // Chosen: machines of a class that were all slower than predicted do not show that none is
  // faster.
  constexpr double of_other_side = 0.25;
  SidedError error = range_error(trust, medium, size);
  if (medium.name == "ib" && size >= bandwidth_bound) error.slower *= share_of_most;
  return {std::max(error.slower, of_other_side * error.faster),
          std::max(error.faster, of_other_side * error.slower)};
}

SidedError Spread::range_error(Trust trust, const Medium& medium, Bytes size) const {
  const auto range = error_range(ranges, trust, medium, size).value_or(ErrorRange{});
  return {std::max(std::log(range.high) / nine_of_ten, error_of_exact),
          std::max(-std::log(range.low) / nine_of_ten, error_of_exact)};
}

double Spread::slower(Trust trust, const Medium& medium, Bytes size) const {
  return root_of_squares(range_error(trust, medium, size).slower, noise(size));
}

double Spread::healthy(Trust trust, const Medium& medium, Bytes size) const {
  return nine_of_ten * slower(trust, medium, size);
}

double Spread::alarm(Trust trust, const Medium& medium, Bytes size) const {
  const double deviation = slower(trust, medium, size);
  if (size >= bandwidth_bound) {
    return std::min(nineteen_of_twenty * deviation, std::log(max_alarm));
  }
  const bool is_exact = !error_range(ranges, trust, medium, size);
  return std::clamp(nearly_all * deviation, is_exact ? 0 : std::log(min_alarm_of_small),
                    std::log(max_alarm_of_small));
}

Spread widened(Spread spread, double times) {
  for (ErrorClass& each : spread.ranges.classes) {
    for (ErrorRange& range : each.ranges) {
      range = {std::pow(range.low, times), std::pow(range.high, times)};
    }
  }
  return spread;
}

Spread load_spread() {
  Spread spread;
  spread.ranges = load_error_table();
  const YamlMapping root = load_yaml(shipped_file("noise", "models/data"), "noise")
                               .mapping({"bands", "rest", "outliers", "disturbed"});
  for (const YamlValue& value : root.at("bands").sequence()) {
    const YamlMapping band = value.mapping({"below", "noise"});
    spread.bands.push_back({band.at("below").bytes(), band.at("noise").fraction()});
  }
  spread.rest = root.at("rest").fraction();
  const YamlMapping outliers = root.at("outliers").mapping({"share", "times"});
  spread.outliers = {outliers.at("share").fraction(),
                     static_cast<double>(outliers.at("times").integer(1, 100))};
  const YamlMapping disturbed = root.at("disturbed").mapping({"share", "off"});
  spread.disturbed = {disturbed.at("share").fraction(), disturbed.at("off").fraction()};
  return spread;
}

namespace {

/// A multivariate t distribution of residuals, and what it would be if single ones had more noise.
class ResidualDensity {
 public:
  ResidualDensity(const Eigen::MatrixXd& covariance, const Eigen::VectorXd& residual) {
    const Eigen::LLT<Eigen::MatrixXd> factor(covariance);
    precision_ = factor.solve(Eigen::MatrixXd::Identity(covariance.rows(), covariance.cols()));
    weighted_ = precision_ * residual;
    squares_ = residual.dot(weighted_);
    for (Eigen::Index i = 0; i < covariance.rows(); ++i) {
      log_determinant_ += 2 * std::log(factor.matrixLLT()(i, i));
    }
  }

  double log_value() const { return log_value(log_determinant_, squares_); }

  /// If the variance of one residual were larger by so much (Sherman and Morrison).
  double log_value_with(Eigen::Index one, double variance) const {
    const double growth = 1 + variance * precision_(one, one);
    const double less = variance * weighted_[one] * weighted_[one] / growth;
    return log_value(log_determinant_ + std::log(growth), squares_ - less);
  }

  void widen(Eigen::Index one, double variance) {
    const double growth = 1 + variance * precision_(one, one);
    const Eigen::VectorXd column = precision_.col(one);
    log_determinant_ += std::log(growth);
    squares_ -= variance * weighted_[one] * weighted_[one] / growth;
    weighted_ -= variance * weighted_[one] / growth * column;
    precision_ -= variance / growth * column * column.transpose();
  }

 private:
  double log_value(double log_determinant, double squares) const {
    constexpr double freedom = 5;
    const auto n = static_cast<double>(weighted_.size());
    return -0.5 * log_determinant - 0.5 * (freedom + n) * std::log1p(squares / freedom);
  }

  Eigen::MatrixXd precision_;
  Eigen::VectorXd weighted_;
  double squares_ = 0;
  double log_determinant_ = 0;
};

/// A way in which a single time is far off: the logarithm of its odds, and its variance, as a
/// multiple of the noise's and beside it.
struct FarOff {
  double odds = 0;
  double of_noise = 0;
  double more = 0;
};

std::vector<FarOff> ways_far_off(const Spread& spread) {
  std::vector<FarOff> ways;
  const auto odds = [](double share) { return std::log(share / (1 - share)); };
  const Outliers& noise = spread.outliers;
  const Disturbed& other = spread.disturbed;
  if (noise.share > 0) ways.push_back({odds(noise.share), noise.times * noise.times - 1, 0});
  if (other.share > 0) ways.push_back({odds(other.share), 0, other.off * other.off});
  return ways;
}

/// Takes the residuals that are likelier to be far off for that, one after the other.
double log_value_with_outliers(ResidualDensity density, std::span<const ResidualPlace> places,
                               const Spread& spread) {
  struct Choice {
    std::size_t place = 0;
    double variance = 0;
    double odds = 0;
  };
  const std::vector<FarOff> ways = ways_far_off(spread);
  double value = density.log_value();
  double odds = 0;  // of those that are taken
  std::vector<bool> taken(places.size(), false);
  for (std::size_t count = 0; count < places.size() / one_far_off_in; ++count) {
    std::optional<Choice> best;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (taken[i]) continue;
      const double noise = spread.noise(places[i].size);
      for (const FarOff& way : ways) {
        const double variance = way.of_noise * noise * noise + way.more;
        const double with =
            density.log_value_with(static_cast<Eigen::Index>(i), variance) + odds + way.odds;
        if (with <= value) continue;
        value = with;
        best = {i, variance, way.odds};
      }
    }
    if (!best) break;
    density.widen(static_cast<Eigen::Index>(best->place), best->variance);
    odds += best->odds;
    taken[best->place] = true;
  }
  return value;
}

/// Of predictions that are off by so much each, as logarithms.
double log_density(std::span<const double> residuals, std::span<const ResidualPlace> places,
                   const std::vector<double>& errors, const Spread& spread) {
  const auto count = static_cast<Eigen::Index>(residuals.size());
  Eigen::MatrixXd covariance(count, count);
  Eigen::VectorXd residual(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    residual[i] = residuals[at];
    for (Eigen::Index j = 0; j < i; ++j) {
      const auto other = static_cast<std::size_t>(j);
      covariance(i, j) = covariance(j, i) =
          errors[at] * errors[other] * likeness(places[at], places[other]);
    }
    const double noise = spread.noise(places[at].size);
    covariance(i, i) = errors[at] * errors[at] + noise * noise;
  }
  return log_value_with_outliers(ResidualDensity(covariance, residual), places, spread);
}

/// Of the machines in docs/accuracy.md that nothing was fitted to, a fifth are off by less than a
/// third of their class's median from 16 MiB on, and a twelfth by less than a tenth of it. Errors
/// of one width would have 18 % and 5 % there: what is left is narrower.
struct Width {
  double times = 1;  ///< as wide as the class
  double weight = 1;
};
constexpr std::array widths{Width{1, 0.95}, Width{1.0 / 3, 0.01}, Width{0.1, 0.03},
                            Width{0.03, 0.01}};

}  // namespace

double log_likelihood(std::span<const double> residuals, std::span<const ResidualPlace> places,
                      const Spread& spread, int fitted) {
  // Two halves of normal distributions that meet at the predicted time.
  std::vector<double> errors;
  double halves = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ResidualPlace& place = places[i];
    const SidedError sided = spread.sided_error(place.trust, place.medium, place.size);
    errors.push_back(residuals[i] > 0 ? sided.slower : sided.faster);
    halves += std::log(2 * errors.back() / (sided.slower + sided.faster));
  }
  std::vector<double> densities;
  for (const Width& width : widths) {
    std::vector<double> narrower = errors;
    for (double& error : narrower) error *= width.times;
    densities.push_back(halves + std::log(width.weight) + fitted * std::log(width.times) +
                        log_density(residuals, places, narrower, spread));
  }
  const double most = *std::max_element(densities.begin(), densities.end());
  double sum = 0;
  for (const double density : densities) sum += std::exp(density - most);
  return most + std::log(sum);
}

}  // namespace collsim
