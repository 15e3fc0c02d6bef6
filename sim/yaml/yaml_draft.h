#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/yaml/yaml_reader.h"

namespace collsim {

/// A copy of a YAML value in which fields are set. What was written elsewhere keeps its place, so
/// that complaints about it still say where a person wrote it.
class YamlDraft {
 public:
  explicit YamlDraft(const YamlValue& original);

  /// Sets the field of that dotted path: "sizes.from". Mappings on the way are made where they are
  /// missing. In a list, a number picks an entry, counted from 0 ("runs.0.algorithm"); any other
  /// name goes into every entry ("runs.algorithm"). Throws InputError at `named` where the path
  /// leads through a single value or past the end of a list.
  void set(const YamlValue& named, std::string_view path, const YamlValue& value);

  /// Removes a key of the mapping, if it is there.
  void remove(std::string_view key);

  /// The value as it stands now; later changes do not reach it.
  YamlValue value() const;

 private:
  std::uint32_t copy(const YamlValue& value);
  void set_below(std::uint32_t node, const YamlValue& named, std::string_view path,
                 const YamlValue& value);
  void set_in_list(std::uint32_t node, const YamlValue& named, std::string_view path,
                   const YamlValue& value);
  void set_in_mapping(std::uint32_t node, const YamlValue& named, std::string_view path,
                      const YamlValue& value);
  std::uint32_t entry(std::uint32_t mapping, const YamlValue& named, const std::string& key);

  std::shared_ptr<YamlDocument> document_;
};

/// A single value that no one wrote, for complaints at the place of one that was: the numbers of a
/// range.
YamlValue scalar_at(const YamlValue& place, std::string text);
/// An absent value at a place. A draft makes a mapping of it when fields below it are set.
YamlValue nothing_at(const YamlValue& place);

}  // namespace collsim
