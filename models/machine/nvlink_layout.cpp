#include "models/machine/nvlink_layout.h"

#include <algorithm>
#include <array>

namespace collsim {

namespace {

constexpr int pascal = 60;
constexpr int volta = 70;
constexpr std::uint32_t square = 4;
constexpr std::uint32_t cube_mesh = 8;

/// The pairs of the hybrid cube mesh and the links that a V100 has in each; a P100 has one
/// (NVIDIA DGX-1 With Tesla V100 white paper, figure 4).
constexpr std::array<std::array<std::uint32_t, 3>, 16> cube_mesh_pairs{{{0, 1, 1},
                                                                        {0, 2, 1},
                                                                        {0, 3, 2},
                                                                        {0, 4, 2},
                                                                        {1, 2, 2},
                                                                        {1, 3, 1},
                                                                        {1, 5, 2},
                                                                        {2, 3, 2},
                                                                        {2, 6, 1},
                                                                        {3, 7, 1},
                                                                        {4, 5, 1},
                                                                        {4, 6, 1},
                                                                        {4, 7, 2},
                                                                        {5, 6, 2},
                                                                        {5, 7, 1},
                                                                        {6, 7, 2}}};

/// Whether there are modules of the model, in contrast to cards with bridges.
bool is_module(const GpuModel& model) {
  constexpr std::uint32_t max_of_a_card = 4;
  return model.compute_capability == pascal || model.nvlinks > max_of_a_card;
}

std::uint32_t links_of_pair(const GpuModel& model, std::uint32_t gpus, std::uint32_t on_v100) {
  if (model.compute_capability == pascal) return 1;
  return gpus <= square ? 2 : on_v100;
}

}  // namespace

std::vector<NvlinkTrunk> nvlink_layout(const GpuModel& model, std::uint32_t gpus) {
  std::vector<NvlinkTrunk> trunks;
  if (gpus < 2 || !is_module(model)) return trunks;
  if (model.compute_capability <= volta && gpus <= cube_mesh) {
    for (const auto& [gpu, peer, links] : cube_mesh_pairs) {
      if (peer < gpus) trunks.push_back({gpu, peer, links_of_pair(model, gpus, links)});
    }
    return trunks;
  }
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    trunks.push_back({gpu, std::nullopt, model.nvlinks});
  }
  return trunks;
}

}  // namespace collsim
