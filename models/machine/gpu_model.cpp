#include "models/machine/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sim/base/data_directory.h"
#include "sim/base/number.h"
#include "sim/base/text.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

constexpr double giga = 1e9;
constexpr std::int64_t max_gpus = 1024;

std::uint32_t count_at(const YamlMapping& keys, std::string_view key, std::uint32_t otherwise) {
  const auto value = keys.find(key);
  return value ? static_cast<std::uint32_t>(value->integer(1, max_gpus)) : otherwise;
}

double rate_at(const YamlMapping& keys, std::string_view key) {
  const auto value = keys.find(key);
  return value ? value->rate().value / giga : 0;
}

std::string text_at(const YamlMapping& keys, std::string_view key) {
  const auto value = keys.find(key);
  return value ? value->string() : std::string();
}

/// "{ 1: gh200, 4: gh200-4 }".
std::map<std::uint32_t, std::string> names_by_count(const YamlMapping& keys, std::string_view key) {
  std::map<std::uint32_t, std::string> names;
  if (const auto value = keys.find(key)) {
    const YamlMapping said = value->free_mapping();
    for (const auto& [gpus, name] : said.entries()) {
      names[static_cast<std::uint32_t>(gpus.integer(1, max_gpus))] = name.string();
    }
  }
  return names;
}

int capability_of(const YamlValue& value) {
  constexpr std::int64_t max_capability = 1000;
  return static_cast<int>(value.integer(1, max_capability));
}

GpuGeneration read_generation(const YamlValue& value) {
  const YamlMapping keys =
      value.mapping({"capabilities", "calibration", "board", "infiniband", "roce", "efa"});
  const std::vector<YamlValue> capabilities = keys.at("capabilities").sequence();
  if (capabilities.size() != 2) keys.at("capabilities").fail("not two numbers", "[first, last]");
  return {capability_of(capabilities[0]),  capability_of(capabilities[1]),
          keys.at("calibration").string(), text_at(keys, "board"),
          keys.at("infiniband").string(),  keys.at("roce").string(),
          keys.at("efa").string()};
}

GpuModel read_model(const YamlValue& value) {
  const YamlMapping keys =
      value.mapping({"name", "capability", "nvlinks", "nvlink", "pcie", "chip_link", "gpus_per_cpu",
                     "rack", "pci", "boards", "calibration", "hosts"});
  constexpr std::int64_t max_pcie = 9;
  GpuModel model{.name = keys.at("name").string(),
                 .compute_capability = capability_of(keys.at("capability")),
                 .nvlinks = count_at(keys, "nvlinks", 0),
                 .nvlink_bandwidth = rate_at(keys, "nvlink"),
                 .pcie_generation = static_cast<int>(keys.at("pcie").integer(1, max_pcie)),
                 .chip_link = rate_at(keys, "chip_link"),
                 .gpus_per_cpu = count_at(keys, "gpus_per_cpu", 1),
                 .gpus_per_rack = count_at(keys, "rack", 0),
                 .boards = names_by_count(keys, "boards"),
                 .calibration = text_at(keys, "calibration"),
                 .hosts = names_by_count(keys, "hosts")};
  if (const auto devices = keys.find("pci")) {
    for (const YamlValue& each : devices->sequence()) {
      const auto id = parse_hexadecimal<std::uint16_t>(each.string());
      if (!id)
        each.fail(fmt::format("'{}' is no PCI device id", each.string()), "such as \"2330\"");
      model.pci_devices.push_back(*id);
    }
  }
  return model;
}

struct GpuTable {
  std::vector<GpuGeneration> generations;
  std::vector<GpuModel> models;
};

const GpuTable& gpu_table() {
  static const GpuTable table = [] {
    const YamlMapping root =
        load_yaml(shipped_file("gpus", "models/data"), "gpus").mapping({"generations", "gpus"});
    GpuTable read;
    for (const YamlValue& each : root.at("generations").sequence()) {
      read.generations.push_back(read_generation(each));
    }
    for (const YamlValue& each : root.at("gpus").sequence()) {
      read.models.push_back(read_model(each));
    }
    return read;
  }();
  return table;
}

bool is_digit(char letter) {
  return std::isdigit(static_cast<unsigned char>(letter)) != 0;
}

/// Whether the text contains the name of the model, and not a longer number that begins like it.
bool names(std::string_view text, std::string_view model) {
  const std::string lower = lower_case(text);
  const std::string word = lower_case(model);
  for (auto at = lower.find(word); at != std::string::npos; at = lower.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (end == lower.size() || !is_digit(lower[end])) return true;
  }
  return false;
}

}  // namespace

std::span<const GpuModel> gpu_models() {
  return gpu_table().models;
}

std::span<const GpuGeneration> gpu_generations() {
  return gpu_table().generations;
}

std::string gpu_model_names() {
  std::vector<std::string_view> names;
  for (const GpuModel& model : gpu_models()) names.push_back(model.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

const GpuModel* find_gpu_model(std::string_view text) {
  for (const GpuModel& model : gpu_models()) {
    if (names(text, model.name)) return &model;
  }
  return nullptr;
}

std::optional<int> known_compute_capability(std::string_view text) {
  constexpr std::string_view prefix = "sm_";
  if (!text.starts_with(prefix)) {
    const GpuModel* model = find_gpu_model(text);
    return model == nullptr ? std::nullopt : std::optional(model->compute_capability);
  }
  return parse_number<int>(text.substr(prefix.size()));
}

bool is_card(std::string_view text) {
  return names(text, "PCIe") || names(text, "NVL");
}

const GpuModel* gpu_model_of_pci_device(std::uint16_t device) {
  for (const GpuModel& model : gpu_models()) {
    const auto& devices = model.pci_devices;
    if (std::find(devices.begin(), devices.end(), device) != devices.end()) return &model;
  }
  return nullptr;
}

std::uint16_t pci_device_of(const GpuModel& model) {
  return model.pci_devices.empty() ? std::uint16_t{0} : model.pci_devices.front();
}

}  // namespace collsim
