#pragma once

#include <filesystem>

#include "sim/base/text_file.h"
#include "sim/topologies/topology.h"
#include "sim/topologies/topology_library.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// GPUs that one topology may have.
inline constexpr std::uint32_t gpu_limit = 1'048'576;

/// Reads a topology file (`collsim: topology/1`, docs/formats.md) with the node templates that it
/// names, found as nodes/<template>.yaml beside it or else in the library, and the fabric, as
/// fabrics/<template>.yaml.
/// Devices of node n are named "node<n>/<id>". All GPUs of the result reach each other. Throws
/// InputError, at its place, for everything that is wrong.
Topology load_topology(const std::filesystem::path& path, const TopologyLibrary& library = {});
/// Reads a topology from a text; templates are looked for beside its name.
Topology read_topology(const TextFile& text, const TopologyLibrary& library = {});
/// Reads a topology from the root of a file; templates are looked for below `folder`.
Topology read_topology(const YamlValue& root, const std::filesystem::path& folder,
                       const TopologyLibrary& library);

}  // namespace collsim
