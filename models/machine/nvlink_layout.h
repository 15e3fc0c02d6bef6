#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/machine/gpu_model.h"

namespace collsim {

/// NVLinks of a GPU to one neighbour.
struct NvlinkTrunk {
  std::uint32_t gpu;                  ///< its place in the order of PCI bus ids
  std::optional<std::uint32_t> peer;  ///< another GPU, each pair once; none: the NVSwitches
  std::uint32_t links;
};

/// The NVLinks between `gpus` modules of a model in the servers that NVIDIA designed for it:
/// DGX-1's hybrid cube mesh for up to eight P100 or V100 (up to four V100: two links for every
/// pair, as in a Dell C4140), else all links of a GPU to NVSwitches (DGX-2, HGX A100 and later).
/// Empty for a lone GPU and for models without such modules: which cards have an NVLink bridge is
/// up to their owner.
std::vector<NvlinkTrunk> nvlink_layout(const GpuModel& model, std::uint32_t gpus);

}  // namespace collsim
