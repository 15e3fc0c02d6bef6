#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/calibration/error_table.h"
#include "models/calibration/trust.h"
#include "sim/base/units.h"
#include "sim/cost/trust.h"

namespace collsim {

/// The size from which on calls are bound by bandwidth, and predictions are judged apart
/// (models/data/errors.yaml).
inline constexpr Bytes bandwidth_bound{16 << 20};

/// Noise of one time below a size.
struct NoiseBand {
  Bytes below;
  double noise = 0;  ///< standard deviation, as a share
};

/// The share of times that noise puts far off, and how many times as large they make it.
struct Outliers {
  double share = 0;  ///< of all times
  double times = 1;
};

/// The share of times that something else on the machine disturbed. They may be any, within a
/// standard deviation of their logarithm.
struct Disturbed {
  double share = 0;  ///< of all times
  double off = 0;
};

/// Up to one in this many residuals of a log may be far off by noise or be disturbed.
inline constexpr std::size_t one_far_off_in = 4;

/// Standard deviations of a prediction's error, as logarithms: of times that are slower than
/// predicted, and of those that are faster.
struct SidedError {
  double slower = 0;
  double faster = 0;
};

/// How far a measured time may be from the predicted one on a healthy machine.
struct Spread {
  std::vector<NoiseBand> bands;  ///< of measurements, rising
  double rest = 0;               ///< noise of sizes beyond the bands
  Outliers outliers{};
  Disturbed disturbed{};
  ErrorTable ranges{};  ///< of eight of ten measured times; predictions of no class are exact

  double noise(Bytes size) const;
  /// The error to each side: the 10th and 90th percentile of such predictions are 1.28 times it.
  /// Next to none for exact ones.
  SidedError sided_error(Trust trust, const Medium& medium, Bytes size) const;
  SidedError range_error(Trust trust, const Medium& medium, Bytes size) const;
  /// How much slower than predicted a time may be and still be healthy, as a logarithm: nine of
  /// ten are no slower.
  double healthy(Trust trust, const Medium& medium, Bytes size) const;
  /// How much slower than predicted a time has to be to raise an alarm, as a logarithm: 19 of 20
  /// are no slower. More for small calls, which depend on CPUs, on what issues them, and on where
  /// NCCL changes the protocol.
  double alarm(Trust trust, const Medium& medium, Bytes size) const;
  /// A standard deviation of what makes healthy times slower than predicted, as a logarithm.
  double slower(Trust trust, const Medium& medium, Bytes size) const;
};

/// The spread where predictions are `times` times as far off, as logarithms.
Spread widened(Spread spread, double times);

/// Reads models/data/noise.yaml and models/data/errors.yaml. Throws InputError.
Spread load_spread();

/// The call and size that a residual of a predicted and a measured time belongs to.
struct ResidualPlace {
  Bytes size;
  Trust trust = Trust::guessed;
  std::size_t series = 0;
  Medium medium{};  ///< that the data cross
};

/// How likely residuals log(measured / predicted) are, as the logarithm of a density, up to what
/// all have in common. Errors of predictions of near sizes are alike, with a length of six
/// doublings; those of other series half as much. A multivariate t distribution with five degrees
/// of freedom: single calibrations are far worse than their class; and some are far better, so that
/// it is a mixture of three widths. Each is off by as much as nine of ten of its class are, to the
/// slow side and to the fast one (Spread::sided_error()). Up to one in one_far_off_in is taken for
/// one of Spread::outliers or Spread::disturbed where that is likelier, so that none of them pulls
/// the others. `fitted`: so many numbers were fitted to the residuals, each of which comes near by
/// chance the less, the narrower the width.
double log_likelihood(std::span<const double> residuals, std::span<const ResidualPlace> places,
                      const Spread& spread, int fitted = 0);

}  // namespace collsim
