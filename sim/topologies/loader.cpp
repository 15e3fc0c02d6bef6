#include "sim/topologies/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/topologies/name_range.h"
#include "sim/topologies/network.h"
#include "sim/topologies/node_template.h"
#include "sim/topologies/reach.h"
#include "sim/topologies/template_path.h"
#include "sim/yaml/yaml_reader.h"

namespace collsim {

namespace {

/// `count` equal nodes.
struct NodeGroup {
  YamlValue value;
  NodeTemplate node;
  std::uint32_t count = 1;
};

std::size_t count_of(const NodeTemplate& node, DeviceKind kind) {
  return static_cast<std::size_t>(
      std::count_if(node.devices.begin(), node.devices.end(),
                    [kind](const GraphDevice& device) { return device.kind == kind; }));
}

NodeGroup read_group(const YamlValue& value, const std::filesystem::path& templates,
                     const TopologyLibrary& library) {
  const YamlMapping keys = value.mapping({"template", "count", "devices", "links", "shared"});
  NodeGroup group{value, {}, 1};
  if (const auto count = keys.find("count")) {
    group.count = static_cast<std::uint32_t>(count->integer(1, gpu_limit));
  }
  const auto name = keys.find("template");
  if (!name) {
    if (!keys.find("devices")) {
      value.fail("this node has neither 'template' nor 'devices'",
                 "one of the two must say what the node is");
    }
    group.node = read_inline_node(keys, library);
    return group;
  }
  for (const std::string_view key : {"devices", "links", "shared"}) {
    if (const auto list = keys.find(key)) {
      list->fail(fmt::format("'{}' stands beside 'template'", key),
                 "use one of the two; a node template of your own may extend another by 'extends'");
    }
  }
  group.node = load_node_template(*name, templates, library);
  return group;
}

std::vector<NodeGroup> read_groups(const YamlValue& nodes, const std::filesystem::path& templates,
                                   const TopologyLibrary& library) {
  std::vector<NodeGroup> groups;
  if (!nodes.is_sequence()) {
    groups.push_back(read_group(nodes, templates, library));
  } else {
    for (const YamlValue& value : nodes.sequence()) {
      groups.push_back(read_group(value, templates, library));
    }
  }
  if (groups.empty()) nodes.fail("no nodes", "list at least one group of nodes");
  std::size_t gpus = 0;
  for (const NodeGroup& group : groups) {
    gpus += group.count * count_of(group.node, DeviceKind::gpu);
    if (gpus > gpu_limit) {
      group.value.fail(fmt::format("more than {} GPUs", gpu_limit),
                       "machines of up to that many are supported");
    }
  }
  return groups;
}

/// `attach: nic` (unless said otherwise) or `attach: gpu`.
DeviceKind read_attach(const YamlMapping& fabric) {
  const auto value = fabric.find("attach");
  if (!value || value->string() == "nic") return DeviceKind::nic;
  if (value->string() == "gpu") return DeviceKind::gpu;
  value->fail(fmt::format("'{}' cannot attach to a fabric", value->string()),
              "'attach' is nic, or gpu where GPUs have network ports of their own");
}

NodeEnds find_ends(const std::vector<NodeGroup>& groups, const TopologyBuilder& builder,
                   DeviceKind kind) {
  NodeEnds ends;
  for (const NodeGroup& group : groups) {
    if (count_of(group.node, kind) == 0) {
      group.value.fail("a fabric joins the nodes, and this node has no NIC",
                       "give the node a device of kind nic, or the fabric 'attach: gpu'");
    }
    for (std::uint32_t i = 0; i < group.count; ++i) {
      const DeviceId first = builder.node(static_cast<std::uint32_t>(ends.size())).first_device;
      ends.emplace_back();
      for (std::uint32_t d = 0; d < group.node.devices.size(); ++d) {
        if (group.node.devices[d].kind == kind) ends.back().push_back(first + d);
      }
    }
  }
  return ends;
}

/// A fabric that the file draws itself: devices and links over the whole cluster.
void build_custom(TopologyBuilder& builder, const YamlValue& fabric,
                  const std::vector<NodeGroup>& groups) {
  const YamlMapping keys = fabric.mapping({"kind", "sharp", "devices", "links", "shared"});
  GraphReader reader;
  std::size_t node = 0;
  for (const NodeGroup& group : groups) {
    for (std::uint32_t i = 0; i < group.count; ++i, ++node) {
      for (GraphDevice device : group.node.devices) {
        device.name = fmt::format("node{}/{}", node, device.name);
        reader.add_known(std::move(device));
      }
    }
  }
  if (const auto devices = keys.find("devices")) reader.read_devices(*devices, false);
  reader.read_links(keys.at("links"), false);
  if (const auto shares = keys.find("shared")) reader.read_shares(*shares);

  const Graph graph = std::move(reader).take();
  for (const GraphDevice& device : graph.devices) {
    // Only devices of nodes, which are there already, have a slash in their names.
    if (device.name.find('/') == std::string::npos) builder.add_device(device);
  }
  std::vector<LinkId> ids;
  for (const GraphLink& link : graph.links) {
    ids.push_back(builder.add_link(link.from, link.to, link.kind, link.bandwidth, link.latency,
                                   link.count, link.burst));
  }
  for (const GraphShare& share : graph.shares) {
    std::vector<LinkId> links;
    for (const GraphDirection direction : share.links) {
      links.push_back(ids[direction.link] + (direction.reversed ? 1 : 0));
    }
    builder.add_shared_resource(share.name, share.bandwidth, std::move(links));
  }
}

/// What a file says itself, or the file of fabrics/ that it names.
YamlValue find_fabric(const YamlValue& fabric, const std::filesystem::path& templates,
                      const TopologyLibrary& library) {
  const auto name = fabric.free_mapping().find("template");
  if (!name) return fabric;
  fabric.mapping({"template"});
  TemplateFolders folders{templates};
  if (!library.folder.empty()) folders.push_back(library.folder / "fabrics");
  return load_yaml(template_path(*name, folders), "fabric");
}

void build_fabric(TopologyBuilder& builder, const YamlValue& fabric,
                  const std::vector<NodeGroup>& groups) {
  const YamlMapping keys = fabric.free_mapping();
  const YamlValue kind = keys.at("kind");
  const std::string name = kind.string();
  std::string names = "none, custom";
  if (name == "none") {
    fabric.mapping({"kind"});
    return;
  }
  if (name == "custom") return build_custom(builder, fabric, groups);
  for (const NetworkKind& network : network_kinds()) {
    if (network.name == name) {
      return network.build(builder, fabric, find_ends(groups, builder, read_attach(keys)));
    }
    names += fmt::format(", {}", network.name);
  }
  kind.fail(fmt::format("'{}' is not a kind of fabric", name), fmt::format("kinds are {}", names));
}

/// With `sharp: true` its switches reduce.
void add_fabric(TopologyBuilder& builder, const YamlValue& fabric,
                const std::vector<NodeGroup>& groups) {
  build_fabric(builder, fabric, groups);
  const auto sharp = fabric.free_mapping().find("sharp");
  if (sharp && sharp->boolean()) builder.let_network_reduce();
}

/// A name, or two joined by `+`: the GPUs' and the transport's.
bool is_calibration_name(std::string_view name) {
  const std::size_t plus = name.find('+');
  return is_plain_name(name.substr(0, plus)) &&
         (plus == std::string_view::npos || is_plain_name(name.substr(plus + 1)));
}

std::string read_calibration(const YamlMapping& file, const TopologyLibrary& library) {
  const auto value = file.find("calibration");
  if (!value) return {};
  if (!is_calibration_name(value->string())) {
    value->fail(fmt::format("'{}' is not a calibration's name", value->string()),
                "a name like hgx-h200, or h100+efa");
  }
  if (library.check_calibration) library.check_calibration(*value);
  return value->string();
}

}  // namespace

Topology load_topology(const std::filesystem::path& path, const TopologyLibrary& library) {
  return read_topology(read_text_file(path, "a YAML file"), library);
}

Topology read_topology(const TextFile& text, const TopologyLibrary& library) {
  const std::filesystem::path path(text.name);
  return read_topology(read_yaml(text, "topology"), path.parent_path(), library);
}

Topology read_topology(const YamlValue& root, const std::filesystem::path& folder,
                       const TopologyLibrary& library) {
  const YamlMapping file = root.mapping({"name", "calibration", "nodes", "fabric"});
  const YamlValue nodes = file.at("nodes");
  const auto groups = read_groups(nodes, folder / "nodes", library);

  TopologyBuilder builder(file.at("name").string(), read_calibration(file, library));
  for (const NodeGroup& group : groups) builder.add_nodes(group.node, group.count);
  const auto fabric = file.find("fabric");
  if (fabric) {
    const YamlValue said = find_fabric(*fabric, folder / "fabrics", library);
    add_fabric(builder, said, groups);
  }

  Topology topology = std::move(builder).build();
  if (const auto lost = unreachable_gpu(topology)) {
    fabric.value_or(nodes).fail(
        fmt::format("{} cannot reach {}", topology.device_name(topology.gpus().front()),
                    topology.device_name(*lost)),
        "add links or a fabric that join all GPUs");
  }
  return topology;
}

}  // namespace collsim
