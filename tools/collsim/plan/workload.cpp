#include "tools/collsim/plan/workload.h"

#include <fmt/format.h>

#include <optional>

#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

/// Of the default datatype, float.
constexpr std::int64_t element = 4;
constexpr double max_parameters = 1e14;

double read_parameters(const YamlValue& value) {
  const std::string text = value.string();
  const double number = parse_number<double>(text).value_or(0);
  if (number >= 1 && number <= max_parameters) return number;
  value.fail(fmt::format("'{}' is not a number of parameters", text), "such as 25.6e6 or 175e9");
}

}  // namespace

std::vector<TrainedModel> load_trained_models() {
  const YamlMapping file =
      load_yaml(shipped_file("workloads", "models/data"), "workloads").mapping({"models"});
  std::vector<TrainedModel> models;
  for (const YamlValue& each : file.at("models").sequence()) {
    const YamlMapping keys = each.mapping({"name", "parameters", "source"});
    models.push_back({keys.at("name").string(), read_parameters(keys.at("parameters")),
                      keys.at("source").string()});
  }
  return models;
}

std::int64_t bytes_of_precision(std::string_view precision) {
  if (precision == "fp32") return 4;
  if (precision == "fp16" || precision == "bf16") return 2;
  throw InputError(fmt::format("--precision: '{}'", precision), "fp16, bf16 or fp32");
}

Bytes gradient_bytes(double parameters, std::string_view precision) {
  const double bytes = parameters * static_cast<double>(bytes_of_precision(precision));
  return Bytes{static_cast<std::int64_t>(bytes) / element * element};
}

std::vector<CallGroup> calls_of(const Workload& workload) {
  if (workload.bucket.count == 0 || workload.bucket >= workload.bytes) return {{workload.bytes}};
  const std::int64_t whole = workload.bytes.count / workload.bucket.count;
  const Bytes left{workload.bytes.count - whole * workload.bucket.count};
  std::vector<CallGroup> calls{{workload.bucket, whole}};
  if (left.count > 0) calls.push_back({left});
  return calls;
}

}  // namespace collsim
