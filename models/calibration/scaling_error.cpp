#include "models/calibration/scaling_error.h"

#include "sim/base/data_directory.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

ScalingError load_scaling_error() {
  const auto scaling =
      load_yaml(shipped_file("trust", "models/data"), "trust").mapping({"scaling"}).find("scaling");
  if (!scaling) return {};
  const YamlMapping keys = scaling->mapping({"off", "gpus", "source"});
  ScalingError error{keys.at("off").fraction(), keys.at("source").string()};
  if (const auto gpus = keys.find("gpus")) {
    for (const YamlValue& each : gpus->sequence()) {
      const YamlMapping entry = each.mapping({"gpu", "off"});
      error.gpus[entry.at("gpu").string()] = entry.at("off").fraction();
    }
  }
  return error;
}

double ScalingError::of_gpu(std::string_view gpu) const {
  const auto found = gpus.find(gpu);
  return found == gpus.end() ? 0 : found->second;
}

}  // namespace collsim
