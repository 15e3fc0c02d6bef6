#include "tools/collsim/calibrate/fit_plan.h"

#include <fmt/format.h>

#include <filesystem>

#include "models/calibration/calibration_file.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/yaml/yaml_reader.h"
#include "tools/collsim/calibrate/calibration_fit.h"
#include "tools/collsim/calibrate/parameter.h"
#include "tools/collsim/calibrate/whole_calibration.h"

namespace collsim {

namespace {

constexpr std::uint32_t max_sizes = 1 << 20;
constexpr std::int64_t max_weight = 1000;

std::vector<RowPattern> read_patterns(const YamlValue& value) {
  std::vector<RowPattern> patterns;
  for (const YamlValue& each : value.sequence()) {
    try {
      patterns.emplace_back(each.string());
    } catch (const InputError&) {
      each.fail(fmt::format("rows '{}'", each.string()), std::string(accepted_row_patterns));
    }
  }
  return patterns;
}

CallMode read_mode(const YamlValue& value) {
  for (const CallMode mode : {CallMode::plain, CallMode::graph}) {
    if (value.string() == to_string(mode)) return mode;
  }
  value.fail(fmt::format("mode '{}'", value.string()), "plain or graph");
}

FitSubject read_subject(const YamlValue& value) {
  if (value.string() == "machine") return FitSubject::machine;
  if (value.string() == "transport") return FitSubject::transport;
  if (value.string() == "nvls") return FitSubject::nvls;
  value.fail(fmt::format("a fit of '{}'", value.string()), "machine, transport or nvls");
}

/// The constants that a key or an item of a list names.
std::vector<Parameter> read_parameters(const YamlValue& name) {
  try {
    return parameters_named({name.string()});
  } catch (const InputError&) {
    name.fail(fmt::format("no constant is called '{}'", name.string()),
              "names as `collsim calibrate --list` has them");
  }
}

std::vector<PinnedConstant> read_pinned(const YamlValue& value) {
  std::vector<PinnedConstant> pinned;
  const YamlMapping constants = value.free_mapping();
  for (const auto& [key, constant] : constants.entries()) {
    const Parameter parameter = read_parameters(key).front();
    pinned.push_back({parameter, read_constant(constant, parameter.quantity, parameter.accepted)});
  }
  return pinned;
}

PlannedRecording read_recording(const YamlValue& value, const std::filesystem::path& base,
                                Bytes largest) {
  const YamlMapping mapping =
      value.mapping({"file", "machine", "mode", "rows", "fit", "weight", "with"});
  const YamlValue file = mapping.at("file");
  PlannedRecording recording{(base / file.string()).lexically_normal().string(), {}};
  if (!is_readable_kind(recording.file)) {
    file.fail(fmt::format("no file {}", recording.file), "a recording, relative to the plan");
  }
  FitSelection& selection = recording.selection;
  selection.sizes = RowPattern(fmt::format("size=1..{}", largest.count));
  selection.rows.mode.reset();
  if (const auto machine = mapping.find("machine")) recording.machine = machine->string();
  if (const auto mode = mapping.find("mode")) selection.rows.mode = read_mode(*mode);
  if (const auto rows = mapping.find("rows")) selection.used = read_patterns(*rows);
  if (const auto fit = mapping.find("fit")) selection.fitted = read_patterns(*fit);
  if (const auto weight = mapping.find("weight")) selection.weight = weight->fraction(max_weight);
  if (const auto with = mapping.find("with")) selection.pinned = read_pinned(*with);
  return recording;
}

}  // namespace

FitPlan read_fit_plan(const TextFile& text) {
  const YamlMapping root = read_yaml(text, "calibration").free_mapping();
  const CalibrationText stated(text);
  FitPlan plan{stated.name(),           stated.date(), stated.trust(),
               whole_calibration(text), stated,        read_calibration(text)};
  const YamlMapping fit =
      root.at("fit").mapping({"of", "constants", "sizes", "scale", "prior", "up_to", "recordings"});
  if (const auto subject = fit.find("of")) plan.subject = read_subject(*subject);
  for (const YamlValue& name : fit.at("constants").sequence()) {
    static_cast<void>(read_parameters(name));
    plan.constants.push_back(name.string());
  }
  if (const auto sizes = fit.find("sizes")) {
    plan.sizes = static_cast<std::uint32_t>(sizes->integer(0, max_sizes));
  }
  constexpr Bytes default_largest{64 << 20};
  if (const auto scale = fit.find("scale")) plan.scale = scale->fraction();
  if (const auto prior = fit.find("prior")) plan.prior = prior->fraction();
  const auto up_to = fit.find("up_to");
  const Bytes largest = up_to ? up_to->bytes() : default_largest;
  for (const YamlValue& each : fit.at("recordings").sequence()) {
    const std::filesystem::path base = std::filesystem::path(text.name).parent_path();
    plan.recordings.push_back(read_recording(each, base, largest));
  }
  return plan;
}

}  // namespace collsim
