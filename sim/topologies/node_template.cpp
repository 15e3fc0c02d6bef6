#include "sim/topologies/node_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
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
                  [](const GraphDevice& device) { return device.kind == DeviceKind::gpu; });
  if (!has_gpu) where.fail("this node has no GPU", "a node needs at least one device of kind gpu");
}

/// Reads a template and, before it, those that it extends.
class TemplateReader {
 public:
  explicit TemplateReader(const TopologyLibrary& library) : library_(library), reader_(library) {}

  void read(const YamlValue& name, const std::filesystem::path& directory) {
    TemplateFolders folders{directory};
    if (!library_.folder.empty()) folders.push_back(library_.folder / "nodes");
    const std::filesystem::path path = template_path(name, folders);
    const std::string text = name.string();
    if (std::find(above_.begin(), above_.end(), text) != above_.end()) {
      name.fail(fmt::format("template '{}' extends itself ({} -> {})", text,
                            fmt::join(above_, " -> "), text),
                "a template may not lead back to itself by 'extends'");
    }
    read_file(path, text);
  }

  /// Returns the file's root.
  YamlValue read_file(const std::filesystem::path& path, const std::string& name) {
    above_.push_back(name);
    const YamlMapping node =
        load_yaml(path, "node").mapping({"name", "extends", "devices", "links", "shared"});
    if (const auto title = node.find("name")) title->string();
    if (const auto base = node.find("extends")) read(*base, path.parent_path());
    reader_.next_file();
    read_lists(reader_, node);
    above_.pop_back();
    return node.value();
  }

  NodeTemplate take() && { return std::move(reader_).take(); }

 private:
  const TopologyLibrary& library_;
  GraphReader reader_;
  /// The templates that are being read because of one another, the first one first.
  std::vector<std::string> above_;
};

}  // namespace

NodeTemplate load_node_template(const YamlValue& name, const std::filesystem::path& directory,
                                const TopologyLibrary& library) {
  TemplateReader reader(library);
  reader.read(name, directory);
  NodeTemplate node = std::move(reader).take();
  check_has_gpu(name, node);
  return node;
}

NodeTemplate load_node_template(const std::filesystem::path& path, const TopologyLibrary& library) {
  TemplateReader reader(library);
  const YamlValue root = reader.read_file(path, path.stem().string());
  NodeTemplate node = std::move(reader).take();
  check_has_gpu(root, node);
  return node;
}

NodeTemplate read_inline_node(const YamlMapping& node, const TopologyLibrary& library) {
  GraphReader reader(library);
  read_lists(reader, node);
  NodeTemplate graph = std::move(reader).take();
  check_has_gpu(node.value(), graph);
  return graph;
}

}  // namespace collsim
