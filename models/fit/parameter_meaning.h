#pragma once

#include <string>
#include <string_view>

#include "models/fit/parameter.h"

namespace collsim {

/// Values that a calibration file takes for a constant, in the units of Parameter::in.
struct ParameterRange {
  double least = 0;
  double most = 0;
};
ParameterRange range_of(const Parameter& parameter);

/// Values that a healthy machine may have: a fit that leaves them was made to something sick, or to
/// runs of something else.
ParameterRange plausible_range_of(const Parameter& parameter);

/// What a constant is, in a few words.
std::string_view meaning_of(const Parameter& parameter);
/// A value as a calibration file says it, to 4 digits: "3.98 us", "29.4 GB/s", "75.6%".
std::string text_of(const Parameter& parameter, double value);
/// Where a search for a constant begins that costs nothing as it stands.
double nominal_value(const Parameter& parameter);

}  // namespace collsim
