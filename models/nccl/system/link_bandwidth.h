#pragma once

#include "models/nccl/settings/version.h"
#include "models/nccl/system/system.h"

namespace collsim {

// What NCCL takes links to carry, GB/s in one direction (NCCL src/graph/topo.h and topo.cc).

/// NCCL's bandwidth inside one device, in GB/s.
inline constexpr float local_bandwidth = 5000.0F;
/// PCIe gen3 x16; every generation doubles it.
inline constexpr float pci_gen3_bandwidth = 12.0F;

/// The GB/s on the wire of a PCIe link that NCCL takes to carry `nccl_bandwidth`: lanes of 8, 16,
/// 32 GT/s with 128b/130b coding (PCI-SIG) give 15.75 GB/s to gen3 x16.
constexpr double pci_line_rate(double nccl_bandwidth) {
  return 15.75 / pci_gen3_bandwidth * nccl_bandwidth;
}

/// One NVLink of a GPU of that compute capability.
double nvlink_bandwidth(int compute_capability, NcclVersion version);

/// NCCL's bandwidth, in GB/s, between two sockets of that kind.
double cpu_link_bandwidth(const NcclCpu& cpu, NcclVersion version);

/// A CPU whose sockets NCCL would join at about `bandwidth`, or the best guess: for topologies that
/// have NCCL's constants and CPUs without a name.
NcclCpu cpu_of_link_bandwidth(double bandwidth);

}  // namespace collsim
