#pragma once

#include <filesystem>

#include "sim/topologies/graph_reader.h"
#include "sim/topologies/topology_library.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// The inside of one node: the graph of its devices, named "gpu0", "nvswitch0" and so on.
using NodeTemplate = Graph;

/// Reads the template that `name` names from `directory`/<name>.yaml, or else from the library,
/// with all that it extends.
NodeTemplate load_node_template(const YamlValue& name, const std::filesystem::path& directory,
                                const TopologyLibrary& library = {});

/// Reads a template from a file; what it extends stands beside it or in the library.
NodeTemplate load_node_template(const std::filesystem::path& path,
                                const TopologyLibrary& library = {});

/// Reads a node whose devices stand in the topology file itself (keys devices, links, shared).
NodeTemplate read_inline_node(const YamlMapping& node, const TopologyLibrary& library = {});

}  // namespace collsim
