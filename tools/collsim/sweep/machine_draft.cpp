#include "tools/collsim/sweep/machine_draft.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string>

#include "models/imports/machine.h"
#include "models/imports/machine_parts.h"
#include "sim/topologies/cluster_name.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/template_path.h"

namespace collsim {

namespace {

/// What may stand in a template: where a topology names it, which kind of file it is, in which
/// folder.
struct TemplateKind {
  std::string_view key;
  std::string_view kind;
  std::string_view folder;
};
constexpr std::array template_kinds{TemplateKind{"nodes", "node", "nodes"},
                                    TemplateKind{"fabric", "fabric", "fabrics"}};

/// The part of a path before its last name that is there, and the value there: "nodes" or
/// "nodes.0".
struct Place {
  std::string path;
  YamlValue value;
};

std::optional<Place> place_of_template(const YamlValue& root, const TemplateKind& kind,
                                       std::string_view path) {
  auto value = root.free_mapping().find(kind.key);
  if (!value) return std::nullopt;
  std::string place(kind.key);
  if (value->is_sequence()) {
    const std::size_t begin = place.size() + 1;
    const std::string index(path.substr(begin, path.find('.', begin) - begin));
    const auto groups = value->sequence();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (std::to_string(i) == index) return Place{fmt::format("{}.{}", place, index), groups[i]};
    }
    return std::nullopt;
  }
  return Place{place, *value};
}

/// A ClusterName is written out.
YamlValue read_draft(const std::filesystem::path& file) {
  const std::string name = file.string();
  if (!names_unwritten_cluster(name)) return load_yaml(file, "topology");
  const MachineParts parts = load_parts(name);
  return read_yaml({name, composed_text(parts, parts.nodes)}, "topology");
}

}  // namespace

MachineDraft::MachineDraft(const std::filesystem::path& file)
    : folder_(file.parent_path()), draft_(read_draft(file)) {}

/// Writes out the template that the path leads into, if it does.
void MachineDraft::write_out(const YamlValue& named, std::string_view path) {
  const YamlValue root = draft_.value();
  for (const TemplateKind& kind : template_kinds) {
    if (!path.starts_with(std::string(kind.key) + ".")) continue;
    const auto place = place_of_template(root, kind, path);
    if (!place || !place->value.is_mapping()) return;
    const YamlMapping said = place->value.free_mapping();
    const auto name = said.find("template");
    const std::string_view below = path.substr(place->path.size());
    if (!name || below == ".count" || below == ".template") return;
    const YamlValue content = load_yaml(
        template_path(*name, {folder_ / kind.folder, shipped_library().folder / kind.folder}),
        kind.kind);
    if (content.free_mapping().find("extends")) {
      named.fail(
          fmt::format("'{}' in the template {}, which extends another", path, name->string()),
          "a topology file with the node written out");
    }
    draft_.set(named, place->path, nothing_at(place->value));
    for (const YamlMapping& part : {said, content.free_mapping()}) {
      for (const auto& [key, value] : part.entries()) {
        const std::string text = key.string();
        if (text == "template" || text == "collsim" || text == "name") continue;
        draft_.set(key, place->path + "." + text, value);
      }
    }
  }
}

void MachineDraft::set(const YamlValue& named, std::string_view path, const YamlValue& value) {
  write_out(named, path);
  draft_.set(named, path, value);
}

Topology MachineDraft::topology() const {
  return read_topology(draft_.value(), folder_, shipped_library());
}

}  // namespace collsim
