#pragma once

#include <filesystem>
#include <vector>

#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// The folders in which a template is looked for, the first one first.
using TemplateFolders = std::vector<std::filesystem::path>;

/// The file `<name>.yaml` of the first folder that has it. Throws InputError, with the templates
/// that there are, where `name` is no plain name or no folder has such a file.
std::filesystem::path template_path(const YamlValue& name, const TemplateFolders& folders);

}  // namespace collsim
