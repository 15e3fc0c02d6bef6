#include "models/nccl/system/link_bandwidth.h"

#include <cmath>

namespace collsim {

namespace {

constexpr int intel_family = 6;
constexpr int skylake_model = 0x55;
constexpr int sapphire_rapids_model = 0x8F;
constexpr int emerald_rapids_model = 0xCF;
constexpr int zhaoxin_yongfeng_model = 0x5B;

double intel_link_bandwidth(const NcclCpu& cpu, NcclVersion version) {
  if (cpu.family != intel_family || cpu.model < skylake_model) return 6.0;
  if (version < NcclVersion{2, 26}) return 10.0;
  if (cpu.model >= emerald_rapids_model) return 40.0;
  if (cpu.model >= sapphire_rapids_model) return 22.0;
  return 10.0;
}

/// By family since 2.30.5; of one that NCCL does not know, what it took for all before (NCCL
/// src/graph/topo.cc and topo.h; NVIDIA/nccl pull request 2036, issue 2441).
double amd_link_bandwidth(const NcclCpu& cpu, NcclVersion version) {
  constexpr int zen_3_and_4 = 25;
  constexpr int zen_5 = 26;
  constexpr double of_all = 16.0;
  if (version < NcclVersion{2, 30, 5}) return of_all;
  if (cpu.family == zen_5) return 32.0;
  return cpu.family == zen_3_and_4 ? 24.0 : of_all;
}

}  // namespace

double nvlink_bandwidth(int compute_capability, NcclVersion version) {
  if (compute_capability >= 100) return version < NcclVersion{2, 27, 5} ? 40.0 : 40.1;
  if (compute_capability >= 90) return version < NcclVersion{2, 20} ? 20.0 : 20.6;
  if (compute_capability == 86) return 12.0;
  if (compute_capability >= 70) return 20.0;
  if (compute_capability >= 60) return 18.0;
  return 20.0;
}

double cpu_link_bandwidth(const NcclCpu& cpu, NcclVersion version) {
  if (cpu.architecture == CpuArchitecture::power) return 32.0;
  if (cpu.architecture == CpuArchitecture::arm) return 6.0;
  if (cpu.architecture == CpuArchitecture::other) return local_bandwidth;
  switch (cpu.vendor) {
    case CpuVendor::intel:
      return intel_link_bandwidth(cpu, version);
    case CpuVendor::amd:
      return amd_link_bandwidth(cpu, version);
    case CpuVendor::zhaoxin:
      return cpu.model == zhaoxin_yongfeng_model ? 9.0 : 6.0;
    case CpuVendor::other:
      break;
  }
  return local_bandwidth;
}

NcclCpu cpu_of_link_bandwidth(double bandwidth) {
  NcclCpu cpu{CpuArchitecture::x86, CpuVendor::intel, intel_family, sapphire_rapids_model};
  if (bandwidth <= 0) return cpu;
  if (bandwidth < 8) {
    cpu.model = 0;
  } else if (bandwidth < 13) {
    cpu.model = skylake_model;
  } else if (bandwidth < 20) {
    cpu.vendor = CpuVendor::amd;
    cpu.family = 23;
    cpu.model = 49;
  } else if (bandwidth >= 30) {
    cpu.model = emerald_rapids_model;
  }
  return cpu;
}

}  // namespace collsim
