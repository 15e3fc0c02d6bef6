#include "models/imports/machine_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "models/imports/import.h"
#include "models/imports/machine.h"
#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/number.h"
#include "sim/base/words.h"
#include "sim/topologies/cluster_name.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/template_path.h"
#include "sim/topologies/topology_writer.h"

namespace collsim {

namespace {

namespace fs = std::filesystem;

bool is_shipped(std::string_view name, std::string_view folder) {
  const std::vector<std::string> names = shipped_names(folder);
  return std::find(names.begin(), names.end(), name) != names.end();
}

MachineParts parts_of_topology(const fs::path& path);

/// What a topology file says, or the file of fabrics/ that it names.
std::string fabric_of(const YamlValue& fabric, const fs::path& folder) {
  const auto name = fabric.free_mapping().find("template");
  if (name) {
    const TemplateFolders folders{folder / "fabrics", data_directory() / "topologies" / "fabrics"};
    return flow_text(load_yaml(template_path(*name, folders), "fabric"));
  }
  const YamlValue kind = fabric.free_mapping().at("kind");
  if (kind.string() == "none") return {};
  if (kind.string() == "custom") {
    kind.fail(
        "the machine's fabric is drawn link by link, and a plan must make it larger or smaller",
        "use a machine with a fabric of another kind, or a node template with --fabric");
  }
  return flow_text(fabric);
}

/// The fabric of the smallest shipped cluster of a node template, for one node that has none.
void take_fabric_of_cluster(MachineParts& parts, const std::string& node) {
  const auto cluster = shipped_cluster(node);
  if (!cluster || *cluster == node) return;
  const MachineParts several = parts_of_topology(find_data_file(*cluster, "topologies"));
  parts.fabric = several.fabric;
  parts.fabric_from = several.fabric_from;
}

MachineParts parts_of_topology(const fs::path& path) {
  load_topology(path, shipped_library());  // says first what is wrong with it
  const YamlMapping file =
      load_yaml(path, "topology").mapping({"name", "calibration", "nodes", "fabric"});
  YamlValue nodes = file.at("nodes");
  if (nodes.is_sequence()) {
    if (nodes.sequence().size() > 1) {
      nodes.fail("the machine has several groups of nodes",
                 "a plan needs a machine whose nodes are all equal");
    }
    nodes = nodes.sequence().front();
  }
  const YamlMapping group = nodes.mapping({"template", "count", "devices", "links", "shared"});
  MachineParts parts;
  const auto name = group.find("template");
  parts.node = name ? load_node_template(*name, path.parent_path() / "nodes", shipped_library())
                    : read_inline_node(group, shipped_library());
  if (const auto count = group.find("count")) {
    parts.nodes = static_cast<std::uint32_t>(count->integer(1, gpu_limit));
  }
  if (const auto fabric = file.find("fabric")) {
    parts.fabric = fabric_of(*fabric, path.parent_path());
    const std::string inlined = fmt::format("of {}", path.stem().string());
    parts.fabric_from = fabric->free_mapping().string_or("template", inlined);
  }
  if (const auto calibration = file.find("calibration")) parts.calibration = calibration->string();
  if (name && parts.nodes == 1 && !file.find("fabric"))
    take_fabric_of_cluster(parts, name->string());
  return parts;
}

MachineParts parts_of_node(const std::string& name, const fs::path& path) {
  MachineParts parts;
  if (const auto cluster = shipped_cluster(name)) {
    parts = parts_of_topology(find_data_file(*cluster, "topologies"));
  }
  parts.node = load_node_template(path, shipped_library());
  parts.nodes = 1;
  return parts;
}

/// Nodes that are a template, or those of a shipped cluster of another size.
MachineParts parts_of_cluster(const ClusterName& cluster) {
  const fs::path node = shipped_file(cluster.node, "topologies/nodes");
  MachineParts parts =
      is_there(node)
          ? parts_of_node(cluster.node, node)
          : parts_of_topology(find_data_file(*shipped_cluster(cluster.node), "topologies"));
  parts.nodes = cluster.nodes;
  return parts;
}

/// A node template, a topology, or what another tool says of a host.
MachineParts parts_of_file(const std::string& name, const fs::path& path) {
  const TextFile text = read_text_file(path, "a machine");
  if (own_kind(text.content) == "node") return parts_of_node(name, path);
  if (!is_importable(text)) return parts_of_topology(path);
  MachineParts parts;
  parts.node = import_node(text).node;
  return parts;
}

/// `name`.yaml in the current folder or in its folder nodes, as templates of a topology lie.
std::optional<fs::path> own_file(const std::string& name) {
  const fs::path path(name);
  if (path.has_parent_path() || path.has_extension()) return std::nullopt;
  for (const char* folder : {"", "nodes"}) {
    const fs::path own = fs::path(folder) / (name + ".yaml");
    if (is_there(own)) return own;
  }
  return std::nullopt;
}

MachineParts find_parts(const std::string& name) {
  if (is_there(name)) return parts_of_file(name, name);
  if (is_shipped(name, "topologies/nodes")) {
    return parts_of_node(name, find_data_file(name, "topologies/nodes"));
  }
  if (is_shipped(name, "topologies")) return parts_of_topology(find_data_file(name, "topologies"));
  if (const auto own = own_file(name)) return parts_of_file(name, *own);
  if (names_unwritten_cluster(name)) return parts_of_cluster(*parse_cluster_name(name));
  require_no_more_than_absent(name);
  std::vector<std::string> names = shipped_names("topologies/nodes");
  for (std::string& each : shipped_names("topologies")) names.push_back(std::move(each));
  const std::string near = did_you_mean(name, names);
  throw InputError(
      fmt::format("no node template or machine '{}'", name),
      near.empty() ? "a file, or one of the names that `collsim topo list` prints" : near);
}

std::uint32_t number_of_key(const std::string& fabric, std::string_view key,
                            std::uint32_t fallback) {
  const auto text = text_of_key(fabric, key);
  return text ? leading_number<std::uint32_t>(*text).value_or(fallback) : fallback;
}

/// The ends that a fabric attaches to in a node.
std::size_t ends_of(const MachineParts& parts) {
  const bool gpus = text_of_key(parts.fabric, "attach") == "gpu";
  const DeviceKind kind = gpus ? DeviceKind::gpu : DeviceKind::nic;
  return static_cast<std::size_t>(
      std::count_if(parts.node.devices.begin(), parts.node.devices.end(),
                    [kind](const GraphDevice& device) { return device.kind == kind; }));
}

/// With a third level where two have too few ports: a spine of 2p ports joins 2p leaves of p ends.
std::string fabric_for(const MachineParts& parts, std::uint32_t nodes) {
  if (text_of_key(parts.fabric, "kind") != "fat_tree" || text_of_key(parts.fabric, "levels")) {
    return parts.fabric;
  }
  nodes += parts.beside_count;
  const std::size_t ports = number_of_key(parts.fabric, "ports", 32);
  if (nodes * ends_of(parts) <= 2 * ports * ports) return parts.fabric;
  return with_key(parts.fabric, "levels", "3");
}

}  // namespace

std::string_view to_string(NodePlacement placement) {
  return word_for(placement, {{NodePlacement::packed, "packed"},
                              {NodePlacement::interleaved, "interleaved"},
                              {NodePlacement::random, "random"},
                              {NodePlacement::listed, "listed"}});
}

std::optional<NodePlacement> find_placement(std::string_view name) {
  return value_called(name,
                      {NodePlacement::packed, NodePlacement::interleaved, NodePlacement::random});
}

MachineParts load_parts(const std::string& name, const std::string& fabric) {
  MachineParts parts = find_parts(name);
  parts.name = fs::path(name).stem().string();
  if (!fabric.empty()) {
    parts.fabric = load_fabric(fabric);
    parts.fabric_from = fabric;
  }
  return parts;
}

std::string load_fabric(const std::string& name) {
  return flow_text(load_yaml(find_data_file(name, "topologies/fabrics"), "fabric"));
}

std::string with_key(const std::string& mapping, std::string_view key, const std::string& value) {
  std::string text;
  const auto add = [&](std::string_view name, const std::string& said) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, said);
  };
  bool found = false;
  const YamlValue whole = read_yaml_option("fabric", mapping);
  const YamlMapping keys = whole.free_mapping();
  for (const auto& [name, each] : keys.entries()) {
    const bool same = name.string() == key;
    add(name.string(), same ? value : flow_text(each));
    found = found || same;
  }
  if (!found) add(key, value);
  return fmt::format("{{ {} }}", text);
}

std::optional<std::string> text_of_key(const std::string& mapping, std::string_view key) {
  if (mapping.empty()) return std::nullopt;
  const auto value = read_yaml_option("fabric", mapping).free_mapping().find(key);
  if (!value) return std::nullopt;
  return flow_text(*value);
}

std::string composed_text(const MachineParts& parts, std::uint32_t nodes) {
  const std::uint32_t all = nodes + parts.beside_count;
  if (all > 1 && parts.fabric.empty()) {
    throw InputError(fmt::format("{} nodes of {}: no network between them", all, parts.name),
                     "--fabric NAME, such as ndr-fat-tree");
  }
  const auto gpus = static_cast<std::size_t>(
      std::count_if(parts.node.devices.begin(), parts.node.devices.end(),
                    [](const GraphDevice& device) { return device.kind == DeviceKind::gpu; }));
  if (nodes * gpus > gpu_limit) {
    throw InputError(fmt::format("{}: {} nodes of {} GPUs", parts.name, nodes, gpus),
                     fmt::format("machines of up to {} GPUs", gpu_limit));
  }
  const ClusterText cluster{parts.name,
                            {},
                            parts.node,
                            nodes,
                            all > 1 ? fabric_for(parts, nodes) : std::string(),
                            parts.calibration,
                            parts.beside,
                            parts.beside_count};
  return topology_text(cluster);
}

Topology compose(const MachineParts& parts, std::uint32_t nodes) {
  return read_machine({parts.name, composed_text(parts, nodes)});
}

Machine composed_machine(const MachineParts& parts) {
  std::string made = fmt::format("{} is composed of {} node{}", parts.name, parts.nodes,
                                 parts.nodes == 1 ? "" : "s");
  if (parts.nodes > 1) made += fmt::format(", network {}", parts.fabric_from);
  return {compose(parts, parts.nodes), {std::move(made)}};
}

namespace {

/// By node, its place among all: in turn, one from each leaf.
std::vector<std::uint64_t> interleaved_places(const Topology& topology) {
  std::map<DeviceId, std::uint32_t> on_leaf;               // nodes so far
  std::vector<std::uint64_t> turn(topology.node_count());  // of each node
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); id += 2) {
    const Link link = topology.link(id);
    const std::int32_t node = topology.node_of(link.from);
    // Of a node's cables its first counts.
    if (node < 0 || turn[static_cast<std::size_t>(node)] != 0) continue;
    turn[static_cast<std::size_t>(node)] = ++on_leaf[link.to];
  }
  return turn;
}

/// Likewise in an order drawn by Fisher and Yates's method; the standard library's would differ
/// from one to the next.
std::vector<std::uint64_t> random_places(std::uint32_t nodes) {
  std::mt19937_64 draw(nodes);
  std::vector<std::uint64_t> places(nodes);
  std::iota(places.begin(), places.end(), 0);
  for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[draw() % i]);
  return places;
}

}  // namespace

std::uint32_t nodes_around(const MachineParts& parts, std::uint32_t nodes) {
  if (parts.placement != NodePlacement::listed) return nodes;
  if (parts.beside_count > 0) {
    throw InputError("nodes of another kind beside listed ones",
                     "a list of nodes, or nodes beside them");
  }
  if (nodes > parts.listed.size()) {
    throw InputError(fmt::format("{} nodes, of which the list has {}", nodes, parts.listed.size()),
                     "a longer list, or fewer --nodes");
  }
  const std::uint32_t needed = *std::max_element(parts.listed.begin(), parts.listed.end()) + 1;
  return std::max(parts.nodes, needed);
}

std::vector<DeviceId> job_gpus(const Topology& topology, const MachineParts& parts,
                               std::uint32_t nodes) {
  if (parts.placement != NodePlacement::listed) return placed_gpus(topology, parts.placement);
  const auto all = topology.gpus();
  const std::size_t of_node = all.size() / topology.node_count();
  std::vector<DeviceId> gpus;
  gpus.reserve(nodes * of_node);
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto of_first = all.begin() + static_cast<std::ptrdiff_t>(parts.listed[i] * of_node);
    gpus.insert(gpus.end(), of_first, of_first + static_cast<std::ptrdiff_t>(of_node));
  }
  return gpus;
}

std::vector<DeviceId> placed_gpus(const Topology& topology, NodePlacement placement) {
  const auto gpus = topology.gpus();
  std::vector<DeviceId> placed(gpus.begin(), gpus.end());
  if (placement == NodePlacement::packed || topology.node_count() == 1) return placed;
  const std::vector<std::uint64_t> turn = placement == NodePlacement::random
                                              ? random_places(topology.node_count())
                                              : interleaved_places(topology);
  std::vector<std::pair<std::uint64_t, DeviceId>> order;
  order.reserve(placed.size());
  for (const DeviceId gpu : placed) {
    order.emplace_back(turn[static_cast<std::size_t>(topology.node_of(gpu))], gpu);
  }
  std::sort(order.begin(), order.end());
  std::transform(order.begin(), order.end(), placed.begin(),
                 [](const auto& each) { return each.second; });
  return placed;
}

}  // namespace collsim
