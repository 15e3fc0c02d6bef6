#include "tools/collsim/calibrate/held_out.h"

#include <array>
#include <cassert>
#include <cmath>

#include "models/validation/score.h"

namespace collsim {

namespace {

constexpr double standard_errors = 2;
constexpr std::size_t fewest_rows = 3;  // that scatter can be told of

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

/// Whether a mean is above 0 by more than its scatter.
bool is_above_zero(const std::vector<double>& values) {
  if (values.size() < fewest_rows) return false;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  return mean > standard_errors * std::sqrt(squares / (count - 1) / count);
}

}  // namespace

HeldOutErrors held_out_errors(const std::vector<ValidatedRow>& before,
                              const std::vector<ValidatedRow>& after) {
  assert(before.size() == after.size());
  std::vector<double> all_before;
  std::vector<double> all_after;
  std::array<std::vector<double>, size_band_count> rises;
  for (std::size_t i = 0; i < before.size(); ++i) {
    all_before.push_back(std::abs(before[i].error()));
    all_after.push_back(std::abs(after[i].error()));
    rises[size_band(before[i].recorded.size)].push_back(all_after.back() - all_before.back());
  }
  HeldOutErrors errors{before.size(), mean_of(all_before), mean_of(all_after)};
  for (std::size_t band = 0; band < size_band_count; ++band) {
    if (is_above_zero(rises[band])) errors.worse_sizes.emplace_back(size_band_names[band]);
  }
  return errors;
}

}  // namespace collsim
