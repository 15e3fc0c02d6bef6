#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/nccl/settings/version.h"
#include "models/nccl/system/system.h"
#include "models/nccl/system/system_completion.h"
#include "sim/base/text_file.h"

namespace collsim {

/// What a topology file of NCCL's says.
struct NcclTopologyFile {
  NcclSystem system;
  std::vector<std::string> warnings;  ///< what was left out, a sentence for each kind of thing
  std::vector<std::string> notes;     ///< what the file does not say and we assume, a sentence each
};

/// Reads a topology file of NCCL's (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE): one host, or several
/// hosts by their host_hash, whose GPUs NVSwitches join (MNNVL). GPUs without a rank take no part,
/// as in NCCL; if none has one, all take part in file order. A cut-down file is completed by
/// `complete_topology`. Unknown elements and attributes are NCCL's to add and are ignored. Throws
/// InputError at the element that is wrong, and for more than 256 CPUs, 4096 devices or 16 switches
/// above one another.
NcclSystem read_nccl_topology(const std::filesystem::path& path, NcclVersion version);
/// Reads a topology from a text. Throws InputError.
NcclSystem read_nccl_topology(const TextFile& text, NcclVersion version);
/// Reads a topology with what there is to say of it; `hint` completes a cut-down file.
NcclTopologyFile read_nccl_topology_file(const TextFile& text, NcclVersion version,
                                         const HostHint& hint = {});

/// The host as a topology file of NCCL's: reading it gives the same devices and links. Bus ids are
/// made up.
std::string nccl_topology_text(const NcclSystem& system);

}  // namespace collsim
