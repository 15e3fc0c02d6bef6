#pragma once

#include <filesystem>
#include <optional>

#include "models/nccl/search/graph.h"
#include "models/nccl/settings/environment.h"
#include "models/nccl/system/system.h"
#include "sim/base/text_file.h"

namespace collsim {

/// One graph of a graph file of NCCL's (NCCL_GRAPH_FILE, NCCL_GRAPH_DUMP_FILE); nothing if the file
/// has none for that use, one without channels, or one that NCCL_CROSS_NIC=0 forbids. Throws
/// InputError at the element that is wrong.
std::optional<NcclGraph> read_nccl_graph(const std::filesystem::path& path, GraphUse use,
                                         const NcclSystem& system,
                                         const NcclEnvironment& environment);
/// Reads one graph from a text.
std::optional<NcclGraph> read_nccl_graph(const TextFile& text, GraphUse use,
                                         const NcclSystem& system,
                                         const NcclEnvironment& environment);

}  // namespace collsim
