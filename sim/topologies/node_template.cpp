#include "sim/topologies/node_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/topologies/template_path.h"

namespace collsim {

namespace {

void read_lists(GraphReader& reader, const YamlMapping& node) {
  if (const auto devices = node.find("devices")) reader.read_devices(*devices, true);
  if (const auto links = node.find("links")) reader.read_links(*links, true);
  if (const auto shares = node.find("shared")) reader.read_shares(*shares);
}

void check_has_gpu(const YamlValue& where, const NodeTemplate& node) {
  const bool has_gpu =
      std::any_of(node.devices.begin(), node.devices.end(),
                  [](const Device& device) { return device.kind == DeviceKind::gpu; });
  if (!has_gpu) where.fail("a node without a GPU", "a node with at least one device of kind gpu");
}

void read_template(GraphReader& reader, const YamlValue& name,
                   const std::filesystem::path& directory, std::vector<std::string>& above);

/// `above`: the templates that are being read because of one another, the first one first, this
/// one last. Returns the file's root.
YamlValue read_template_file(GraphReader& reader, const std::filesystem::path& path,
                             std::vector<std::string>& above) {
  const YamlMapping node =
      load_yaml(path, "node").mapping({"name", "extends", "devices", "links", "shared"});
  if (const auto title = node.find("name")) title->string();
  if (const auto base = node.find("extends")) {
    read_template(reader, *base, path.parent_path(), above);
  }
  reader.next_file();
  read_lists(reader, node);
  return node.value();
}

void read_template(GraphReader& reader, const YamlValue& name,
                   const std::filesystem::path& directory, std::vector<std::string>& above) {
  const std::filesystem::path path = template_path(name, directory);
  const std::string text = name.string();
  if (std::find(above.begin(), above.end(), text) != above.end()) {
    name.fail(fmt::format("template '{}' extends itself ({} -> {})", text, fmt::join(above, " -> "),
                          text),
              "templates that extend each other in one direction");
  }
  above.push_back(text);
  read_template_file(reader, path, above);
  above.pop_back();
}

}  // namespace

NodeTemplate load_node_template(const YamlValue& name, const std::filesystem::path& directory) {
  GraphReader reader;
  std::vector<std::string> above;
  read_template(reader, name, directory, above);
  NodeTemplate node = std::move(reader).take();
  check_has_gpu(name, node);
  return node;
}

NodeTemplate load_node_template(const std::filesystem::path& path) {
  GraphReader reader;
  std::vector<std::string> above{path.stem().string()};
  const YamlValue root = read_template_file(reader, path, above);
  NodeTemplate node = std::move(reader).take();
  check_has_gpu(root, node);
  return node;
}

NodeTemplate read_inline_node(const YamlMapping& node) {
  GraphReader reader;
  read_lists(reader, node);
  NodeTemplate graph = std::move(reader).take();
  check_has_gpu(node.value(), graph);
  return graph;
}

}  // namespace collsim
