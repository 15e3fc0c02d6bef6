#pragma once

#include <span>
#include <string_view>

#include "models/nccl/system.h"

namespace collsim {

/// A generation of server CPUs: how NCCL tells it from others, and what two of its sockets have
/// between them.
struct CpuGeneration {
  std::string_view name;  ///< "Xeon Sapphire Rapids"
  NcclCpu cpu{};
  double between_sockets = 0;  ///< GB/s of all their links together, in one direction
};

/// All that we know, the generations of a vendor in the order of their family and model.
std::span<const CpuGeneration> cpu_generations();

/// The generation that a CPU's name tells: its own ("Xeon Ice Lake") or that of its number ("Xeon
/// Platinum 8480C", "Xeon E5-2698 v4", "AMD EPYC 7543P"); null for any other text.
const CpuGeneration* find_cpu_generation(std::string_view model);

/// The latest generation that is not newer than the CPU, by family and model; null where we know
/// none of its vendor.
const CpuGeneration* generation_of(const NcclCpu& cpu);

}  // namespace collsim
