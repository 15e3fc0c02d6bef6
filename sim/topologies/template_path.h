#pragma once

#include <filesystem>

#include "sim/yaml_reader.h"

namespace collsim {

/// The file `<directory>/<name>.yaml`. Throws InputError, with the templates that there are, where
/// `name` is no plain name or there is no such file.
std::filesystem::path template_path(const YamlValue& name, const std::filesystem::path& directory);

}  // namespace collsim
