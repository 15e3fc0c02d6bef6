#include "models/calibration/scaling_error.h"

#include "sim/base/data_directory.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

ScalingError load_scaling_error() {
  const auto scaling = load_yaml(shipped_file("trust", "models/data"), "trust")
                           .mapping({"measured", "derived", "guessed", "scaling"})
                           .find("scaling");
  if (!scaling) return {};
  const YamlMapping keys = scaling->mapping({"off", "source"});
  return {keys.at("off").fraction(), keys.at("source").string()};
}

}  // namespace collsim
