#include "models/fit/whole_calibration.h"

#include <cmath>

#include "models/calibration/calibration_file.h"
#include "models/fit/parameter.h"
#include "sim/base/data_directory.h"

namespace collsim {

Calibration cost_of(const CalibrationText& text) {
  return read_calibration(
      {text.name(),
       "collsim: calibration/1\nname: whole\nsource: none\ndate: none\n" + text.constants()});
}

namespace {

/// But for what printing a constant rounds off.
bool is_same(double stated, double value) {
  constexpr double rounding = 5.1e-4;
  return stated == value || std::abs(stated - value) <= rounding * std::abs(value);
}

/// In numbers what a text says of NVSwitches by naming a file.
void state_nvls(const Calibration& cost, CalibrationText& text) {
  if (!text.states("nvls") || text.states("nvls.efficiency") || text.states("nvls.step")) return;
  for (const Parameter& parameter : fit_parameters()) {
    if (!parameter.name.starts_with("nvls.")) continue;
    Calibration stated = cost;
    text.set(parameter.name, text_of(parameter, parameter.in(stated)));
  }
}

}  // namespace

CalibrationText whole_calibration(const TextFile& file) {
  Calibration cost = read_calibration(file);
  CalibrationText text(file);
  state_nvls(cost, text);
  const auto base = text.base();
  if (!base) return text;
  const auto path = find_data_file(*base, "models/calibrations");
  text.take_from(whole_calibration(read_text_file(path, "a calibration file")));
  // What has come over as it stands there is another value here where it is scaled.
  Calibration stated = cost_of(text);
  for (const Parameter& parameter : fit_parameters()) {
    const double value = parameter.in(cost);
    if (is_same(parameter.in(stated), value)) continue;
    text.set(parameter.name, text_of(parameter, value));
    stated = cost_of(text);  // what is stated for all links may count for some that say nothing
  }
  return text;
}

}  // namespace collsim
