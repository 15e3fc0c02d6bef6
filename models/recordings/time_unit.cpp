#include "models/recordings/time_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "models/recordings/readers.h"
#include "sim/base/number.h"

namespace collsim {

namespace {

constexpr double microsecond = 1e-6;
constexpr double millisecond = 1e-3;

/// GB/s of so many bytes in a time that may be 0.
double rate(double bytes, double seconds) {
  if (bytes <= 0) return 0;
  return seconds > 0 ? bytes / seconds / 1e9 : std::numeric_limits<double>::infinity();
}

bool fits(double bytes, const PrintedInterval& time, const PrintedInterval& algbw, double unit) {
  constexpr double tolerance = 0.1;
  return rate(bytes, time.max * unit) * (1 - tolerance) <= algbw.max &&
         rate(bytes, time.min * unit) * (1 + tolerance) >= algbw.min;
}

}  // namespace

double half_of_last_digit(std::string_view digits) {
  const std::size_t e = std::min(digits.find_first_of("eE"), digits.size());
  const std::size_t point = std::min(digits.find('.'), e);
  const std::size_t decimals = point == e ? 0 : e - point - 1;
  int exponent = 0;
  if (e < digits.size()) {
    std::string_view power = digits.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    exponent = leading_number<int>(power).value_or(0);
  }
  return 0.5 * std::pow(10.0, exponent - static_cast<double>(decimals));
}

PrintedInterval printed_interval(double value, std::string_view digits) {
  const double half = half_of_last_digit(digits);
  return {std::max(0.0, value - half), value + half};
}

TimeUnits units_that_fit(const PrintedTime& printed) {
  const auto time = decimal_number(printed.time);
  const auto algbw = decimal_number(printed.algbw);
  if (!time || !algbw) return {};
  const PrintedInterval seconds = printed_interval(*time, printed.time);
  const PrintedInterval rates = printed_interval(*algbw, printed.algbw);
  const auto bytes = static_cast<double>(printed.size.count);
  // Without the number of ranks the least share is that of two.
  const double ranks = printed.ranks == 0 ? 2 : printed.ranks;
  const std::array counted{bytes, bytes * (ranks - 1) / ranks};
  const auto fits_in = [&](double unit) {
    return std::any_of(counted.begin(), counted.end(),
                       [&](double each) { return fits(each, seconds, rates, unit); });
  };
  return {fits_in(microsecond), fits_in(millisecond)};
}

std::string describe_misfit(const PrintedTime& printed) {
  const double time = decimal_number(printed.time).value_or(0);
  const auto bytes = static_cast<double>(printed.size.count);
  return fmt::format(
      "a time of {} and an algbw of {} GB/s, where {} bytes make {:.3g} GB/s in microseconds and "
      "{:.3g} GB/s in milliseconds",
      printed.time, printed.algbw, printed.size.count, rate(bytes, time * microsecond),
      rate(bytes, time * millisecond));
}

}  // namespace collsim
