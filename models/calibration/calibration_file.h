#pragma once

#include <filesystem>
#include <string_view>

#include "sim/base/text_file.h"
#include "sim/cost/calibration.h"
#include "sim/cost/constants.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// Reads a calibration (`collsim: calibration/1`, docs/formats.md). Throws InputError.
Calibration load_calibration(const std::filesystem::path& path);
/// Reads a calibration from a text. Throws InputError.
Calibration read_calibration(const TextFile& text);

/// The value of a constant, in the units of Constant::in. Throws InputError outside of the range.
double read_constant(const YamlValue& value, Quantity quantity, const ConstantRange& accepted);

/// The keys of a calibration file: "ll", "ll128", "simple"; "nvlink", "pcie", "cpu", "network".
std::string_view calibration_key(Protocol protocol);
std::string_view calibration_key(LinkKind kind);

}  // namespace collsim
