#include "tools/collsim/calibrate/whole_calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <system_error>
#include <utility>

#include "models/calibration/calibration_file.h"
#include "models/calibration/transport.h"
#include "models/call/call_compiler.h"
#include "sim/base/data_directory.h"
#include "sim/base/file_status.h"
#include "tools/collsim/calibrate/parameter.h"

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

/// States in a text all that costs otherwise than it says.
void state_values(Calibration cost, CalibrationText& text) {
  Calibration stated = cost_of(text);
  for (const Parameter& parameter : fit_parameters()) {
    const double value = parameter.in(cost);
    if (is_same(parameter.in(stated), value)) continue;
    if (std::isinf(value)) {
      text.erase(parameter.name);  // no limit is what a file says that leaves it out
    } else {
      text.set(parameter.name, text_of(parameter, value));
    }
    stated = cost_of(text);  // what is stated for all links may count for some that say nothing
  }
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
  const auto path = find_data_file(*base, "models/data/calibrations");
  text.take_from(whole_calibration(read_text_file(path, "a calibration file")));
  // What has come over as it stands there is another value here where it is scaled.
  state_values(cost, text);
  return text;
}

CalibrationText whole_calibration(std::string_view name) {
  const Calibration cost = named_calibration(name);
  const std::size_t plus = name.rfind('+');
  if (plus == std::string_view::npos || is_readable_kind(name)) {
    const auto path = find_data_file(name, "models/data/calibrations");
    return whole_calibration(read_text_file(path, "a calibration file"));
  }
  CalibrationText text = whole_calibration(name.substr(0, plus));
  const CalibrationText transport(read_text_file(
      shipped_file(name.substr(plus + 1), "models/data/calibrations/transports"), "a transport"));
  text.take_group(transport, shipped_transport(transport.name()).inside_hosts ? "memory" : "proxy");
  state_values(cost, text);
  return CalibrationText(
      {std::string(name), fmt::format("collsim: calibration/1\nname: \"{}\"\nsource: \"{}\"\n"
                                      "date: {}\n{}",
                                      cost.name, "its parts", text.date(), text.constants())});
}

std::string name_of_calibration_used(const Topology& topology) {
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.run.schedule = ScheduleKind::nccl;
  spec.run = with_defaults(spec.run, spec.collective, topology);
  spec.gpus.assign(topology.gpus().begin(), topology.gpus().end());
  if (spec.gpus.size() == 1) return spec.cost.name;
  return CallCompiler(std::move(spec)).cost().name;
}

}  // namespace collsim
