#pragma once

#include <filesystem>
#include <functional>

#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// What topology files may name besides the files beside them. Empty: nothing more, and any name
/// will do.
struct TopologyLibrary {
  /// A folder whose nodes/ and fabrics/ hold templates for files everywhere.
  std::filesystem::path folder{};
  /// Each throws InputError, at the value, for a name that it does not know.
  std::function<void(const YamlValue& name)> check_calibration{};
  std::function<void(const YamlValue& model)> check_gpu_model{};
};

}  // namespace collsim
