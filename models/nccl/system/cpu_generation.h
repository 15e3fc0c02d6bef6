#pragma once

#include <span>
#include <string_view>

#include "models/nccl/system/system.h"

namespace collsim {

/// A generation of server CPUs: how NCCL tells it from others, and what two of its sockets have
/// between them. The one table of CPUs by family and model.
struct CpuGeneration {
  std::string_view name;       ///< "Xeon Sapphire Rapids"
  NcclCpu cpu{};               ///< with the least model number that is surely of it
  int last_model = 0;          ///< and the greatest, of the same family
  double between_sockets = 0;  ///< GB/s of all their links together, in one direction
};

/// All that we know; a generation whose models lie apart has several entries.
std::span<const CpuGeneration> cpu_generations();

/// The generation that a CPU's name tells: its own ("Xeon Ice Lake") or that of its number ("Xeon
/// Platinum 8480C", "Xeon E5-2698 v4", "AMD EPYC 7543P"); null for any other text.
const CpuGeneration* find_cpu_generation(std::string_view model);

/// The generation that the family and model belong to; null where we know none, since a guess
/// would be the bandwidth of other sockets.
const CpuGeneration* generation_of(const NcclCpu& cpu);

/// The family of an AMD CPU, of which NCCL before 2.30.5 writes 15 + 16 * extended family where
/// CPUID means 15 + extended family: 143 is 23 (Zen 1 and 2), 175 is 25 (Zen 3 and 4), 191 is 26
/// (Zen 5). A number that CPUID may give stays (NCCL src/graph/xml.cc; NVIDIA/nccl pull request
/// 2036).
int decoded_amd_family(int family);

}  // namespace collsim
