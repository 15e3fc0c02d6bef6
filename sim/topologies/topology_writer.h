#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/topologies/node_template.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// A cluster of equal nodes, or of two kinds, to be written down.
struct ClusterText {
  std::string name;
  std::vector<std::string> comments;  ///< lines above it all, without their #
  NodeTemplate node;
  std::uint32_t count = 1;
  std::string fabric;         ///< a flow mapping, as flow_text() makes them; may be empty
  std::string calibration{};  ///< its name; may be empty
  NodeTemplate beside{};      ///< other nodes, after those
  std::uint32_t beside_count = 0;
};

/// The cluster as a topology file (`collsim: topology/1`), which read_topology() takes:
///
///   # imported from machine.xml
///   collsim: topology/1
///   name: "machine"
///   calibration: h100
///   nodes:
///     devices:
///       - { id: "gpu[0..7]", kind: gpu, model: "H200" }
///     ...
///
/// Device and link names that count up share a line. Characters of names and models that YAML or we
/// do not take become '_'.
std::string topology_text(const ClusterText& cluster);

/// A value as YAML in flow style, on one line: `{ kind: rails, spines: 4 }`. Leaves out the key
/// `collsim`.
std::string flow_text(const YamlValue& value);

}  // namespace collsim
