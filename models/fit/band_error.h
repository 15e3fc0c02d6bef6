#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "models/validation/score.h"

namespace collsim {

/// Errors of one family of rows within a band of sizes.
struct BandError {
  std::size_t rows = 0;
  double median = 0;  ///< of absolute relative errors
  double bias = 0;    ///< median of the signed ones; above 0: predicted too slow
  /// The bias is more than scatter explains: beyond 3 standard errors of a median, from the median
  /// absolute deviation, and beyond 2 %. Something is modelled wrongly there, or not at all.
  bool systematic = false;
};

/// Of a family, whatever its number of channels.
struct FamilyError {
  ValidationFamily family;
  std::size_t rows = 0;
  std::array<BandError, size_band_count> bands;
};

BandError band_error(const std::vector<double>& errors);
std::vector<FamilyError> family_errors(const std::vector<ValidatedRow>& rows);

}  // namespace collsim
