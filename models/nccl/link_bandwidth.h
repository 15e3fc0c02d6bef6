#pragma once

#include "models/nccl/system.h"
#include "models/nccl/version.h"

namespace collsim {

// What NCCL takes links to carry, GB/s in one direction (NCCL src/graph/topo.h and topo.cc).

/// Inside one device.
inline constexpr float local_bandwidth = 5000.0F;
/// PCIe gen3 x16; every generation doubles it.
inline constexpr float pci_gen3_bandwidth = 12.0F;

/// One NVLink of a GPU of that compute capability.
double nvlink_bandwidth(int compute_capability, NcclVersion version);

/// Between two sockets of that kind.
double cpu_link_bandwidth(const NcclCpu& cpu, NcclVersion version);

/// A CPU of `vendor` whose sockets NCCL would join at about `bandwidth`, or the best guess.
NcclCpu cpu_of_link_bandwidth(double bandwidth);

}  // namespace collsim
