#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "sim/cost/calibration.h"
#include "tools/collsim/calibrate/fit_constants.h"
#include "tools/collsim/calibrate/fit_rows.h"

namespace collsim {

/// Points of one call that the same algorithm and protocol run.
using FitClass = std::vector<std::size_t>;

/// The rows that a fit uses, none of them held out: `sizes` sizes of each class, spread from the
/// smallest to the largest; all if `sizes` is 0.
class FitSample {
 public:
  FitSample(const FitRows& rows, std::uint32_t sizes);

  const std::vector<FitClass>& classes() const { return classes_; }
  Protocol protocol(std::size_t of_class) const { return protocols_[of_class]; }
  /// Indices into FitRows::rows().
  const std::vector<std::size_t>& rows() const { return rows_; }

 private:
  std::vector<FitClass> classes_;
  std::vector<Protocol> protocols_;
  std::vector<std::size_t> rows_;
};

/// How sampled rows are answered.
struct FitMachine {
  FitRows& rows;
  std::uint32_t threads = 1;
  std::function<bool()> stop{};
  double scale = 0;  ///< of Cauchy's loss
  double prior = 0;  ///< CalibrationFitOptions::prior
};

/// Residuals of the sampled rows, log(predicted / measured), and, if there is a prior, behind them
/// those of the constants from their starts. Does not simulate a class again if only constants of
/// other protocols changed, which makes the columns of a Jacobian cheaper.
class FitResiduals {
 public:
  FitResiduals(FitMachine machine, const FitSample& sample, const FitConstants& constants);

  std::vector<double> operator()(const std::vector<double>& logarithms);
  double scale() const { return machine_.scale; }
  /// The weights of the residuals.
  std::vector<double> weights() const;

  /// The evaluated constants that have the least Cauchy loss; empty before the first evaluation.
  const std::vector<double>& best() const { return best_; }

 private:
  using Times = std::vector<double>;
  std::vector<double> relevant(std::size_t of_class, const std::vector<double>& logarithms) const;
  void simulate(const std::vector<double>& logarithms);
  void add_prior(const std::vector<double>& logarithms, std::vector<double>& residuals) const;

  FitMachine machine_;
  const FitSample& sample_;
  const FitConstants& constants_;
  std::vector<double> starts_;  // of the constants, if there is a prior
  std::vector<std::map<std::vector<double>, Times>> known_;  // by class
  std::vector<double> best_;
  double best_loss_ = std::numeric_limits<double>::infinity();
};

}  // namespace collsim
