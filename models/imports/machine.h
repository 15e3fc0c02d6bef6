#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/text_file.h"
#include "sim/topologies/topology.h"
#include "sim/topologies/topology_library.h"

namespace collsim {

/// A machine that a person named.
struct Machine {
  Topology topology;
  std::vector<std::string> warnings;  ///< what a person should know of how it was read
};

/// The shipped templates and calibrations, and the models of GPUs that we know: what every topology
/// file may name, wherever it stands. Throws InputError where the shipped files are not found.
TopologyLibrary shipped_library();

/// A topology file, whatever import_node() reads (it shows in the text), a shipped topology by its
/// bare name, or a ClusterName, which is composed; paths are relative to `base`. Throws InputError.
Machine load_machine(std::string_view name, const std::filesystem::path& base = {});

/// Reads a machine from the text of a topology file. Throws InputError.
Topology read_machine(const TextFile& text);

}  // namespace collsim
