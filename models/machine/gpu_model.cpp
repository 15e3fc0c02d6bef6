#include "models/machine/gpu_model.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "models/machine/gpu_generation.h"
#include "sim/base/number.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

// Compute capability: NVIDIA, "CUDA GPU Compute Capability". Links: the data sheets' NVLink
// bandwidth, which counts both ways and all links; Hopper's as `nvidia-smi nvlink --status` prints
// them (26.562 GB/s). Bridged cards (A40, RTX) have four links of 14.06 GB/s, Turing's (RTX 2080
// Ti, 6000, 8000) two of 25. PCIe: the data sheets' system interface. Blackwell's cards (RTX, PRO)
// have no NVLink; a GB10 has NVLink-C2C to its CPU only. NVLink-C2C: 900 GB/s both ways together of
// a Grace (data sheets of GH200, GB200 and GB300), which GB200 and GB300 share between two GPUs;
// 600 of a GB10 (DGX Spark data sheet). Racks: GB200 NVL72 and GB300 NVL72 data sheets.
constexpr std::array models{
    GpuModel{"GB300", 103, 18, 50, 6, 225, 2, 72},
    GpuModel{"GB200", 100, 18, 50, 5, 225, 2, 72},
    GpuModel{"B300", 103, 18, 50, 6},
    GpuModel{"B200", 100, 18, 50, 5},
    GpuModel{"B100", 100, 18, 50, 5},
    GpuModel{"GB10", 121, 0, 0, 5, 300},
    GpuModel{"PRO 6000", 120, 0, 0, 5},
    GpuModel{"PRO 5000", 120, 0, 0, 5},
    GpuModel{"PRO 4500", 120, 0, 0, 5},
    GpuModel{"5090", 120, 0, 0, 5},
    GpuModel{"5080", 120, 0, 0, 5},
    GpuModel{"GH200", 90, 18, 26.56, 5, 450},
    GpuModel{"H800", 90, 8, 26.56, 5},
    GpuModel{"H200", 90, 18, 26.56, 5},
    GpuModel{"H100", 90, 18, 26.56, 5},
    GpuModel{"H20", 90, 18, 26.56, 5},
    GpuModel{"A100", 80, 12, 25, 4},
    GpuModel{"A800", 80, 8, 25, 4},
    GpuModel{"A6000", 86, 4, 14.06, 4},
    GpuModel{"A5000", 86, 4, 14.06, 4},
    GpuModel{"A4000", 86, 0, 0, 4},
    GpuModel{"A30", 80, 4, 25, 4},
    GpuModel{"A40", 86, 4, 14.06, 4},
    GpuModel{"A10", 86, 0, 0, 4},
    GpuModel{"A16", 86, 0, 0, 4},
    GpuModel{"6000 Ada", 89, 0, 0, 4},
    GpuModel{"5000 Ada", 89, 0, 0, 4},
    GpuModel{"L40S", 89, 0, 0, 4},
    GpuModel{"L40", 89, 0, 0, 4},
    GpuModel{"L4", 89, 0, 0, 4},
    GpuModel{"L20", 89, 0, 0, 4},
    GpuModel{"4090", 89, 0, 0, 4},
    GpuModel{"3090", 86, 4, 14.06, 4},
    GpuModel{"2080 Ti", 75, 2, 25, 3},
    GpuModel{"RTX 8000", 75, 2, 25, 3},
    GpuModel{"RTX 6000", 75, 2, 25, 3},
    GpuModel{"V100", 70, 6, 25, 3},
    GpuModel{"T4", 75, 0, 0, 3},
    GpuModel{"P100", 60, 4, 20, 3},
};

/// PCI device ids of NVIDIA's GPUs (The PCI ID Repository).
constexpr std::array<std::pair<std::uint16_t, std::string_view>, 69> pci_devices{{
    {0x15f8, "P100"},     {0x15f9, "P100"},     {0x1db1, "V100"},     {0x1db4, "V100"},
    {0x1db5, "V100"},     {0x1db6, "V100"},     {0x1db8, "V100"},     {0x1df6, "V100"},
    {0x1e04, "2080 Ti"},  {0x1e07, "2080 Ti"},  {0x1e30, "RTX 6000"}, {0x1eb8, "T4"},
    {0x20b0, "A100"},     {0x20b1, "A100"},     {0x20b2, "A100"},     {0x20b3, "A100"},
    {0x20b5, "A100"},     {0x20b7, "A30"},      {0x20bd, "A800"},     {0x20f1, "A100"},
    {0x20f3, "A800"},     {0x20f5, "A800"},     {0x20f6, "A800"},     {0x2203, "3090"},
    {0x2204, "3090"},     {0x2230, "A6000"},    {0x2231, "A5000"},    {0x2235, "A40"},
    {0x2236, "A10"},      {0x2237, "A10"},      {0x24b0, "A4000"},    {0x25b6, "A16"},
    {0x2684, "4090"},     {0x2685, "4090"},     {0x26b1, "6000 Ada"}, {0x26b2, "5000 Ada"},
    {0x26b5, "L40"},      {0x26b9, "L40S"},     {0x26ba, "L20"},      {0x27b8, "L4"},
    {0x2321, "H100"},     {0x2322, "H800"},     {0x2324, "H800"},     {0x2329, "H20"},
    {0x232c, "H20"},      {0x2330, "H100"},     {0x2331, "H100"},     {0x2335, "H200"},
    {0x2336, "H100"},     {0x2339, "H100"},     {0x233b, "H200"},     {0x2342, "GH200"},
    {0x2348, "GH200"},    {0x2901, "B200"},     {0x2909, "B200"},     {0x29bc, "B100"},
    {0x2941, "GB200"},    {0x2b85, "5090"},     {0x2b87, "5090"},     {0x2bb1, "PRO 6000"},
    {0x2bb3, "PRO 5000"}, {0x2bb4, "PRO 6000"}, {0x2bb5, "PRO 6000"}, {0x2c02, "5080"},
    {0x2c31, "PRO 4500"}, {0x2e12, "GB10"},     {0x3182, "B300"},     {0x31c2, "GB300"},
    {0x31c3, "GB300"},
}};

// Fabrics: ConnectX-5 with Volta, -6 with Ampere, -7 with Hopper and Blackwell, -8 with B300.
// Turing's, Ampere's, Ada's and Blackwell's cards for workstations and inference have no NVSwitch,
// at most bridges. Pascal is priced as Volta, the nearest that there is.
constexpr std::array generations{
    GpuGeneration{60, 69, "v100", "", "edr-fat-tree", "roce-100g", "efa-100g"},
    GpuGeneration{70, 72, "v100", "dgx-1-v100", "edr-fat-tree", "roce-100g", "efa-100g"},
    GpuGeneration{75, 75, "pcie", "", "edr-fat-tree", "roce-100g", "efa-100g"},
    GpuGeneration{80, 80, "a100", "dgx-a100", "hdr-fat-tree", "roce-200g", "efa-100g"},
    GpuGeneration{86, 88, "pcie", "", "hdr-fat-tree", "roce-100g", "efa-100g"},
    GpuGeneration{89, 89, "pcie", "", "hdr-fat-tree", "roce-100g", "efa-100g"},
    GpuGeneration{90, 90, "h100", "dgx-h100", "ndr-rail-optimised", "roce-400g", "efa-400g"},
    GpuGeneration{100, 102, "b200", "dgx-b200", "ndr-rail-optimised", "roce-400g", "efa-400g"},
    GpuGeneration{103, 103, "b200", "hgx-b300", "xdr-rail-optimised", "roce-800g", "efa-800g"},
    GpuGeneration{120, 121, "pcie", "", "ndr-fat-tree", "roce-400g", "efa-400g"},
};

/// A name that holds for so many GPUs of a model.
struct OwnName {
  std::string_view gpu;
  std::uint32_t gpus;
  std::string_view name;
};
/// Hosts of GPUs that sit in no board of their generation, those of fewer GPUs first.
constexpr std::array own_boards{
    OwnName{"GB300", 72, "gb300-nvl72"}, OwnName{"GB200", 72, "gb200-nvl72"},
    OwnName{"GH200", 1, "gh200"},        OwnName{"GH200", 4, "gh200-4"},
    OwnName{"H800", 8, "hgx-h800"},      OwnName{"H200", 8, "dgx-h200"},
    OwnName{"V100", 8, "dgx-1-v100"},    OwnName{"V100", 16, "dgx-2"},
};
/// Calibrations of single hosts that were recorded themselves, and, of 0 GPUs, of a model.
constexpr std::array own_calibrations{OwnName{"H200", 8, "hgx-h200"},
                                      OwnName{"H200", 4, "hgx-h200-4"}, OwnName{"H200", 0, "h200"}};

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
  return models;
}

std::string gpu_model_names() {
  std::string names;
  for (const GpuModel& model : models) {
    if (!names.empty()) names += ", ";
    names += model.name;
  }
  return names;
}

const GpuModel* find_gpu_model(std::string_view text) {
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const GpuModel& model) { return names(text, model.name); });
  return found == models.end() ? nullptr : &*found;
}

std::optional<int> known_compute_capability(std::string_view text) {
  constexpr std::string_view prefix = "sm_";
  if (!text.starts_with(prefix)) {
    const GpuModel* model = find_gpu_model(text);
    return model == nullptr ? std::nullopt : std::optional(model->compute_capability);
  }
  return parse_number<int>(text.substr(prefix.size()));
}

bool are_of_one_generation(int capability, int other) {
  constexpr int generation = 10;
  return capability / generation == other / generation;
}

bool is_card(std::string_view text) {
  return names(text, "PCIe") || names(text, "NVL");
}

const GpuModel* gpu_model_of_pci_device(std::uint16_t device) {
  const auto found = std::find_if(pci_devices.begin(), pci_devices.end(),
                                  [&](const auto& entry) { return entry.first == device; });
  return found == pci_devices.end() ? nullptr : find_gpu_model(found->second);
}

std::uint16_t pci_device_of(const GpuModel& model) {
  const auto found = std::find_if(pci_devices.begin(), pci_devices.end(),
                                  [&](const auto& entry) { return entry.second == model.name; });
  return found == pci_devices.end() ? std::uint16_t{0} : found->first;
}

std::span<const GpuGeneration> gpu_generations() {
  return generations;
}

std::string_view own_board(const GpuModel& model, std::uint32_t gpus) {
  for (const OwnName& each : own_boards) {
    if (each.gpu == model.name && gpus <= each.gpus) return each.name;
  }
  return {};
}

std::string_view own_calibration(const GpuModel& model) {
  return host_calibration(model, 0);
}

std::string_view host_calibration(const GpuModel& model, std::uint32_t gpus) {
  for (const OwnName& each : own_calibrations) {
    if (each.gpu == model.name && gpus == each.gpus) return each.name;
  }
  return {};
}

}  // namespace collsim
