#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/imports/machine.h"
#include "sim/topologies/node_template.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// How consecutive nodes lie on the leaves of a fabric.
enum class NodePlacement : std::uint8_t {
  packed,       ///< leaf by leaf, as they are numbered
  interleaved,  ///< in turn, one from each leaf
  random,       ///< in one order drawn at random, the same for as many nodes
  listed,       ///< on those nodes of a larger cluster that a list names
};

/// The word of an option: "packed" or "random".
std::string_view to_string(NodePlacement placement);
/// The placement of that name, or nothing; a list has none.
std::optional<NodePlacement> find_placement(std::string_view name);

/// What a machine is composed of, so that it can have more nodes, fewer, or other parts.
struct MachineParts {
  std::string name;         ///< that a person named
  NodeTemplate node;        ///< all are alike
  std::string fabric;       ///< a flow mapping, as flow_text() makes them; empty: none
  std::string fabric_from;  ///< its name, or "of dgx-h100-x4" where a machine has it written out
  std::string calibration;  ///< its name; empty: by the GPUs
  std::uint32_t nodes = 1;  ///< that the file has
  NodePlacement placement = NodePlacement::packed;
  std::vector<std::uint32_t> listed{};  ///< where `placement` says so: nodes in the ranks' order
  NodeTemplate beside{};                ///< nodes of another kind, which come after the others
  std::uint32_t beside_count = 0;  ///< of them, whatever the others are; 0: all nodes are alike
};

/// The parts of a shipped node template, of a topology, of a file of either, of one that
/// import_node() reads, or of a ClusterName. A bare name that none is shipped of is NAME.yaml in
/// the current folder or in its folder nodes. `fabric`, a shipped fabric or a file, takes the place
/// of its own. A node template's own is that of the smallest shipped cluster of its name
/// (`dgx-h100-x4`), and so is that of a topology of one such node. Throws InputError, also for
/// machines of unlike nodes and fabrics drawn by hand.
MachineParts load_parts(const std::string& name, const std::string& fabric = {});

/// The fabric of a shipped name or a file, as MachineParts has it.
std::string load_fabric(const std::string& name);

/// A flow mapping with a key added, or changed. Throws InputError where the text is none.
std::string with_key(const std::string& mapping, std::string_view key, const std::string& value);
/// The text of a key of a flow mapping; nothing where it is not there.
std::optional<std::string> text_of_key(const std::string& mapping, std::string_view key);

/// The composed machine as a topology file, which read_machine() takes. Throws InputError as
/// compose() does.
std::string composed_text(const MachineParts& parts, std::uint32_t nodes);

/// A cluster of `nodes` nodes of these parts, beside its nodes of another kind. A fat tree of two
/// levels gets a third where two levels of such switches have too few ports for its ends. Throws
/// InputError for several nodes without a fabric, and for a fabric that cannot be as asked.
Topology compose(const MachineParts& parts, std::uint32_t nodes);

/// How many nodes the cluster has on which a job of `nodes` nodes is placed: as many, or with a
/// list those that the machine has, at least as many as its highest number needs. Throws InputError
/// where a list has fewer nodes than the job, and for a list beside nodes of another kind.
std::uint32_t nodes_around(const MachineParts& parts, std::uint32_t nodes);

/// The machine that compose() makes of as many nodes as the parts say, with a warning that says of
/// which parts it is. Throws InputError.
Machine composed_machine(const MachineParts& parts);

/// The GPUs of the ranks of a job of `nodes` nodes (those of another kind aside) on the cluster of
/// nodes_around(): in the order of the placement.
std::vector<DeviceId> job_gpus(const Topology& topology, const MachineParts& parts,
                               std::uint32_t nodes);

/// The GPUs of all nodes in the order of a placement that is no list.
std::vector<DeviceId> placed_gpus(const Topology& topology, NodePlacement placement);

}  // namespace collsim
