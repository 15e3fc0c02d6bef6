#pragma once

#include <filesystem>

#include "models/nccl/system.h"
#include "models/nccl/version.h"

namespace collsim {

/// Reads one host from a topology file of NCCL's (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE). GPUs
/// without a rank take no part, as in NCCL; if none has one, all take part in file order. Unknown
/// elements and attributes are NCCL's to add and are ignored. Throws InputError at the element that
/// is wrong.
NcclSystem read_nccl_topology(const std::filesystem::path& path, NcclVersion version);

}  // namespace collsim
