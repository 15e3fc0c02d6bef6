#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/nccl/system.h"
#include "models/nccl/version.h"
#include "sim/base/text_file.h"

namespace collsim {

/// Reads one host from a topology file of NCCL's (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE). GPUs
/// without a rank take no part, as in NCCL; if none has one, all take part in file order. Unknown
/// elements and attributes are NCCL's to add and are ignored. Throws InputError at the element that
/// is wrong, and for more than 256 CPUs, 4096 devices or 16 switches above one another.
NcclSystem read_nccl_topology(const std::filesystem::path& path, NcclVersion version);
/// The same for a text that is at hand. `warnings`, if given, gets a sentence for each kind of
/// thing that was left out.
NcclSystem read_nccl_topology(const TextFile& text, NcclVersion version,
                              std::vector<std::string>* warnings = nullptr);

/// The host as a topology file of NCCL's: reading it gives the same devices and links. Bus ids are
/// made up.
std::string nccl_topology_text(const NcclSystem& system);

}  // namespace collsim
