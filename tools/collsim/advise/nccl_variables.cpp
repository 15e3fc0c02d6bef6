#include "tools/collsim/advise/nccl_variables.h"

#include "sim/base/data_directory.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

std::map<std::string, std::string> load_nccl_variables() {
  const YamlMapping file =
      load_yaml(shipped_file("nccl-variables", "models/data"), "nccl-variables").free_mapping();
  std::map<std::string, std::string> variables;
  for (const auto& [name, meaning] : file.entries()) {
    if (name.string() != "collsim") variables[name.string()] = meaning.string();
  }
  return variables;
}

}  // namespace collsim
