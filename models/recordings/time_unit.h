#pragma once

#include <string>
#include <string_view>

#include "sim/base/units.h"
#include "sim/plan/collective.h"

namespace collsim {

/// A time as nccl-tests prints it: digits whose unit the log does not always say.
struct PrintedTime {
  Bytes size;              ///< of the row
  Rank ranks = 0;          ///< 0: not known
  std::string_view time;   ///< digits, as "104.0"
  std::string_view algbw;  ///< GB/s, digits; anything else ("inf", "N/A") tells nothing
};

/// Which units a printed time can be in.
struct TimeUnits {
  bool microseconds = true;
  bool milliseconds = true;
};

/// The units in which size / time is the printed algbw, to within what rounding hides and a tenth.
/// Both where the figures are too small to tell. hypercube, and old releases' all_gather and
/// reduce_scatter, count (n-1)/n of the size.
TimeUnits units_that_fit(const PrintedTime& printed);

/// What is wrong with a time that fits no unit, for a message.
std::string describe_misfit(const PrintedTime& printed);

/// Half a unit of the last digit that "12.34" or "1.2e+05" has.
double half_of_last_digit(std::string_view digits);

/// What a printed number may have been before it was rounded to the digits that it has.
struct PrintedInterval {
  double min = 0;
  double max = 0;
};
/// The interval that a printed value stands for: of "12.34" it is 12.335 to 12.345.
PrintedInterval printed_interval(double value, std::string_view digits);

}  // namespace collsim
