#pragma once

#include <filesystem>
#include <string_view>

#include "sim/topologies/topology.h"
#include "sim/yaml/yaml_draft.h"

namespace collsim {

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

}  // namespace collsim
