#include "models/fit/band_error.h"

#include <array>
#include <cmath>

#include "sim/base/median.h"

namespace collsim {

BandError band_error(const std::vector<double>& errors) {
  BandError band;
  band.rows = errors.size();
  if (errors.empty()) return band;
  band.bias = median(errors);
  std::vector<double> sizes;
  std::vector<double> deviations;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    deviations.push_back(std::abs(error - band.bias));
  }
  band.median = median(sizes);
  constexpr std::size_t min_rows = 4;
  constexpr double min_bias = 0.02;
  constexpr double deviation_of_normal = 1.4826;  // standard over median absolute deviation
  constexpr double error_of_median = 1.2533;      // of that of the mean, of normal values
  const double standard_error = error_of_median * deviation_of_normal * median(deviations) /
                                std::sqrt(static_cast<double>(errors.size()));
  band.systematic = errors.size() >= min_rows && std::abs(band.bias) > min_bias &&
                    std::abs(band.bias) > 3 * standard_error;
  return band;
}

std::vector<FamilyError> family_errors(const std::vector<ValidatedRow>& rows) {
  const auto of_any_channels = [](const ValidatedRow& row) {
    ValidationFamily family = family_of(row);
    family.channels = 0;
    return family;
  };
  std::vector<FamilyError> errors;
  for (const auto& [family, members] : by_family(rows, of_any_channels)) {
    std::array<std::vector<double>, size_band_count> bands;
    for (const ValidatedRow* row : members) {
      bands[size_band(row->recorded.size)].push_back(row->error());
    }
    FamilyError error{family, 0, {}};
    for (std::size_t band = 0; band < size_band_count; ++band) {
      error.bands[band] = band_error(bands[band]);
      error.rows += bands[band].size();
    }
    errors.push_back(error);
  }
  return errors;
}

}  // namespace collsim
