#pragma once

#include <span>
#include <vector>

#include "models/calibration/trust.h"
#include "sim/base/units.h"
#include "sim/cost/trust.h"

namespace collsim {

/// From here on calls are bound by bandwidth, and predictions are judged apart
/// (models/data/trust.yaml).
inline constexpr Bytes bandwidth_bound{16 << 20};

/// Noise of one time below a size.
struct NoiseBand {
  Bytes below;
  double noise = 0;  ///< standard deviation, as a share
};

/// How far a measured time may be from the predicted one on a healthy machine.
struct Spread {
  std::vector<TrustError> errors;  ///< of predictions, by class of trust
  std::vector<NoiseBand> bands;    ///< of measurements, rising
  double rest = 0;                 ///< noise of sizes beyond the bands

  double noise(Bytes size) const;
  /// Standard deviation of the prediction's error, as a logarithm: that of a normal distribution
  /// with the known median of absolute errors. Next to none for exact ones.
  double model_error(Trust trust, Bytes size) const;
  /// Of both together.
  double total(Trust trust, Bytes size) const;
  /// How far a healthy time may be off, as a logarithm: so many standard deviations as 19 of 20
  /// values of a normal distribution are within; more for small calls, which depend on CPUs, on
  /// what issues them, and on where NCCL changes the protocol.
  double healthy(Trust trust, Bytes size) const;
};

/// The same where predictions are so many times as far off, as logarithms: twice by the rules of
/// another release.
Spread widened(Spread spread, double times = 2);

/// Of models/data/trust.yaml and models/data/noise.yaml. Throws InputError.
Spread load_spread();

/// Where a predicted and a measured time stand.
struct ResidualPlace {
  Bytes size;
  Trust trust = Trust::guessed;
  std::size_t series = 0;
};

/// How likely residuals log(measured / predicted) are, as the logarithm of a density, up to what
/// all have in common. Errors of predictions of near sizes are alike, with a length of six
/// doublings; those of other series half as much. A multivariate t distribution with five degrees
/// of freedom: single calibrations are far worse than their class.
double log_likelihood(std::span<const double> residuals, std::span<const ResidualPlace> places,
                      const Spread& spread);

}  // namespace collsim
