#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace collsim {

/// What is known of a GPU by its name.
struct GpuModel {
  std::string_view name;    ///< what the names that people and tools use contain: "H100"
  int compute_capability;   ///< 10 major + minor
  std::uint32_t nvlinks;    ///< that one GPU has; 0: none
  double nvlink_bandwidth;  ///< GB/s of one NVLink in one direction, nominal
  int pcie_generation;      ///< PCIe generation of its x16 slot
  double chip_link = 0;     ///< GB/s of its NVLink-C2C to a Grace CPU in one direction; 0: none
  std::uint32_t gpus_per_cpu = 1;   ///< GPUs that share such a CPU
  std::uint32_t gpus_per_rack = 0;  ///< that one NVLink domain joins; 0: hosts stand alone
};

/// All of them, longer names before those that they contain.
std::span<const GpuModel> gpu_models();

/// The names of all models for messages: "GB300, GB200, ...".
std::string gpu_model_names();

/// The model whose name the text contains, in capitals or not ("NVIDIA A100-SXM4-80GB": A100). A
/// digit after the name makes it another one: "A4000" is no A40.
const GpuModel* find_gpu_model(std::string_view text);

/// The compute capability of the model in the text, or of "sm_90"; nothing for any other text.
std::optional<int> known_compute_capability(std::string_view text);

/// Whether GPUs of these compute capabilities are of one generation, as B200 (100) and GB300 (103)
/// are: the constants of one stand in for the other's.
bool are_of_one_generation(int capability, int other);

/// Whether the text names a PCIe card, which no NVSwitch joins ("A100-PCIE-40GB", "H100 NVL").
/// "GB200 NVL72" is none.
bool is_card(std::string_view text);

/// The model with that PCI device id of NVIDIA's (vendor 0x10de).
const GpuModel* gpu_model_of_pci_device(std::uint16_t device);

/// One of the ids of a model; 0 where we know none.
std::uint16_t pci_device_of(const GpuModel& model);

}  // namespace collsim
