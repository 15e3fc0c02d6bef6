#include "tools/collsim/sweep/sweep_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "models/imports/machine.h"
#include "models/imports/machine_parts.h"
#include "models/nccl/tuning/reduction.h"
#include "sim/base/did_you_mean.h"
#include "sim/topologies/cluster_name.h"
#include "sim/topologies/loader.h"
#include "sim/topologies/template_path.h"
#include "sim/topologies/topology.h"
#include "sim/topologies/topology_writer.h"
#include "sim/yaml/yaml_draft.h"
#include "tools/collsim/sweep/sweep_range.h"

namespace collsim {

namespace {

/// A topology file in which fields are set: `nodes.count`, `fabric.link.bandwidth`,
/// `nodes.links.0.bandwidth`. A template that a field lies in is written out into the file first.
class MachineDraft {
 public:
  /// Throws InputError for files that are no topology of ours.
  explicit MachineDraft(const std::filesystem::path& file);

  /// Throws InputError at `named`.
  void set(const YamlValue& named, std::string_view path, const YamlValue& value);
  /// Throws InputError as load_topology() does.
  Topology topology() const;

 private:
  void write_out(const YamlValue& named, std::string_view path);

  std::filesystem::path folder_;
  YamlDraft draft_;
};

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

constexpr std::uint64_t max_sweep_points = 1'000'000;
constexpr std::string_view machine_prefix = "machine.";

bool is_machine_field(const SweepField& field) {
  return field.path.starts_with(machine_prefix);
}

bool is_of_machine(const SweepField& field) {
  return is_machine_field(field) || field.path == "topology";
}

void check_field_name(const YamlValue& key) {
  const std::string path = key.string();
  const std::string first = path.substr(0, path.find('.'));
  std::vector<std::string> names;
  for (const std::string_view name : scenario_keys()) names.emplace_back(name);
  names.emplace_back("size");
  if (std::find(names.begin(), names.end(), path == "size" ? path : first) != names.end() &&
      (first != "size" || path == "size") && path.back() != '.') {
    return;
  }
  names.emplace_back("machine.<field of the topology file>");
  if (first == "machine" && path.size() > machine_prefix.size()) return;
  key.fail(fmt::format("unknown field '{}'", path), names_instead_of(path, names));
}

SweepField read_field(const YamlValue& key, const YamlValue& value) {
  check_field_name(key);
  SweepField field{key, key.string(), {}, {}};
  if (value.is_sequence()) {
    field.values = value.sequence();
  } else if (value.is_mapping()) {
    field.values = range_values(value);
  } else {
    value.fail(fmt::format("'{}' has one value", field.path),
               "a list of values, or a range such as { from: 1 MiB, to: 1 GiB, factor: 4 }");
  }
  if (field.values.empty())
    value.fail(fmt::format("'{}' has no value", field.path), "at least one");
  for (const YamlValue& each : field.values)
    field.texts.push_back(each.is_scalar() ? each.string() : flow_text(each));
  return field;
}

SweepAxis read_axis(const YamlValue& value) {
  SweepAxis axis;
  const YamlMapping fields = value.free_mapping();
  for (const auto& [key, values] : fields.entries()) {
    axis.fields.push_back(read_field(key, values));
    const std::size_t size = axis.fields.back().values.size();
    if (axis.fields.size() == 1) axis.size = size;
    if (size != axis.size) {
      key.fail(fmt::format("{} values of '{}' beside {} of '{}'", size, key.string(), axis.size,
                           axis.fields.front().path),
               "as many values of each: fields of one entry change together; an entry of its own, "
               "after another '-', combines them");
    }
  }
  if (axis.fields.empty())
    value.fail("this entry of the sweep has no fields", "an entry is a field and its values");
  return axis;
}

void set_field(YamlDraft& draft, const SweepField& field, std::size_t index) {
  const YamlValue& value = field.values[index];
  if (field.path != "size") return draft.set(field.named, field.path, value);
  draft.set(field.named, "sizes.from", value);
  draft.set(field.named, "sizes.to", value);
}

/// Whether a field may change how many answers a point has.
bool changes_answers(const SweepField& field) {
  const std::string first = field.path.substr(0, field.path.find('.'));
  return first == "sizes" || first == "runs" || first == "collective";
}

YamlValue without_sweep(const YamlValue& root) {
  YamlDraft draft(root);
  draft.remove("sweep");
  return draft.value();
}

}  // namespace

SweepSpace::SweepSpace(const TextFile& file)
    : base_(read_yaml(file, "scenario")), folder_(std::filesystem::path(file.name).parent_path()) {
  const YamlValue sweep = base_.free_mapping().at("sweep");
  if (!sweep.is_sequence()) {
    sweep.fail("the sweep is not a list",
               "lines such as '- ranks: [2, 4, 8]'; every entry is combined with every other");
  }
  std::set<std::string> seen;
  for (const YamlValue& entry : sweep.sequence()) {
    axes_.push_back(read_axis(entry));
    for (const SweepField& field : axes_.back().fields) {
      if (!seen.insert(field.path).second) {
        field.named.fail(fmt::format("duplicate field '{}'", field.path),
                         "each field may be swept once");
      }
    }
    points_ *= axes_.back().size;
    if (points_ > max_sweep_points) {
      entry.fail(fmt::format("more than {} points", max_sweep_points), "fewer values");
    }
  }
  if (axes_.empty()) sweep.fail("nothing to sweep", "at least one field, '- ranks: [2, 4, 8]'");
  base_ = without_sweep(base_);
}

std::vector<const SweepField*> SweepSpace::fields() const {
  std::vector<const SweepField*> all;
  for (const SweepAxis& axis : axes_) {
    for (const SweepField& field : axis.fields) all.push_back(&field);
  }
  return all;
}

/// The index of the point on each axis.
std::vector<std::size_t> SweepSpace::coordinates(std::uint64_t point) const {
  std::vector<std::size_t> indices(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    indices[i] = static_cast<std::size_t>(point % axes_[i].size);
    point /= axes_[i].size;
  }
  return indices;
}

std::vector<std::string> SweepSpace::values(std::uint64_t point) const {
  std::vector<std::string> texts;
  const auto indices = coordinates(point);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    for (const SweepField& field : axes_[i].fields) texts.push_back(field.texts[indices[i]]);
  }
  return texts;
}

Scenario SweepSpace::scenario(std::uint64_t point) const {
  YamlDraft draft(base_);
  const auto indices = coordinates(point);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    for (const SweepField& field : axes_[i].fields) {
      if (!is_machine_field(field)) set_field(draft, field, indices[i]);
    }
  }
  return read_scenario(draft.value(), folder_);
}

Topology SweepSpace::machine(const Scenario& scenario, std::uint64_t point) const {
  std::optional<MachineDraft> draft;
  const auto indices = coordinates(point);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    for (const SweepField& field : axes_[i].fields) {
      if (!is_machine_field(field)) continue;
      if (!draft) draft.emplace(scenario.topology);
      const std::string_view path(field.path);
      draft->set(field.named, path.substr(machine_prefix.size()), field.values[indices[i]]);
    }
  }
  return draft ? draft->topology() : load_machine(scenario.topology.string()).topology;
}

template <typename Chosen>
std::string SweepSpace::key_of(std::uint64_t point, Chosen chosen) const {
  std::string key;
  const auto indices = coordinates(point);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const auto& fields = axes_[i].fields;
    if (std::any_of(fields.begin(), fields.end(), chosen)) key += fmt::format("{}.", indices[i]);
  }
  return key;
}

std::string SweepSpace::machine_key(std::uint64_t point) const {
  return key_of(point, is_of_machine);
}

std::string SweepSpace::call_key(std::uint64_t point) const {
  return key_of(point, [](const SweepField& field) { return field.path != "size"; });
}

std::vector<std::uint32_t> SweepSpace::answers() const {
  std::map<std::string, std::uint32_t> known;
  std::vector<std::uint32_t> numbers;
  numbers.reserve(static_cast<std::size_t>(points_));
  for (std::uint64_t point = 0; point < points_; ++point) {
    const auto [found, is_new] = known.try_emplace(key_of(point, changes_answers), 0);
    if (is_new) {
      const Scenario read = scenario(point);
      found->second = static_cast<std::uint32_t>(read.runs.size() * sizes_of(read).size());
    }
    numbers.push_back(found->second);
  }
  return numbers;
}

void SweepSpace::check() const {
  static_cast<void>(machine(scenario(0), 0));
  std::uint64_t stride = 1;
  for (std::size_t i = axes_.size(); i-- > 0;) {
    const auto& fields = axes_[i].fields;
    const bool changes_machine = std::any_of(fields.begin(), fields.end(), is_of_machine);
    for (std::size_t index = 1; index < axes_[i].size; ++index) {
      const Scenario read = scenario(stride * index);
      if (changes_machine) static_cast<void>(machine(read, stride * index));
    }
    stride *= axes_[i].size;
  }
}

std::vector<Bytes> sizes_of(const Scenario& scenario) {
  if (scenario.collective == Collective::barrier) return {Bytes{0}};
  return expand(scenario.sizes, size_of(scenario.runs.front().reduction.type));
}

}  // namespace collsim
