#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/machine/gpu_model.h"

namespace collsim {

/// What is known of GPUs of some compute capabilities, and what their servers mostly have.
struct GpuGeneration {
  int first;  ///< of its capabilities
  int last;
  std::string_view calibration;  ///< where NVLink joins all GPUs of a node; elsewhere it is "pcie"
  std::string_view board;        ///< of eight GPUs with NVLink; empty: there are only cards
  std::string_view infiniband;   ///< fabrics by the NICs that were sold with them
  std::string_view roce;
  std::string_view efa;
};

/// All of them, rising.
std::span<const GpuGeneration> gpu_generations();

/// The board on which up to `gpus` GPUs of a model sit, where they sit in none of their generation;
/// empty elsewhere.
std::string_view own_board(const GpuModel& model, std::uint32_t gpus);

/// The calibration of a model that NVLink joins and that differs from others of its generation.
/// Empty elsewhere.
std::string_view own_calibration(const GpuModel& model);
/// The calibration of a single host of `gpus` GPUs, if such a host was recorded. Empty elsewhere.
std::string_view host_calibration(const GpuModel& model, std::uint32_t gpus);

}  // namespace collsim
