#pragma once

#include <string>
#include <vector>

#include "models/machine/gpu_model.h"
#include "sim/base/xml_file.h"

namespace collsim {

/// What is known of a host beside its file: by a person, or since the host is at hand.
struct HostHint {
  const GpuModel* model = nullptr;  ///< of its GPUs; null: not known
  bool cards = false;               ///< they are PCIe cards, which no NVSwitch joins
  double nic_rate = 0;              ///< GB/s of each NIC; 0: not known
};

/// Fills in what a cut-down topology file leaves out, as NCCL does by looking at the machine.
/// Clouds ship files of PCIe switches and devices by PCI class alone: devices of class 0x0300 and
/// 0x0302 become GPUs in the order of their bus ids, those of class 0x0200 and 0x0207 NICs, each
/// with one port of unknown rate and GPUDirect. NVLinks are added by `nvlink_layout`, also to a
/// file that has <gpu> without PCI ids and no <nvlink>, if the hint names a model. Any other file
/// is left as it is. Returns what was assumed, a sentence each. Throws InputError if a file does
/// not say which GPUs these are, by a PCI id, and the hint neither.
std::vector<std::string> complete_topology(const XmlFile& file, const HostHint& hint);

}  // namespace collsim
