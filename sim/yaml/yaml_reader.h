#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/base/units.h"

namespace collsim {

class YamlMapping;
/// A parsed file: yaml_document.h.
class YamlDocument;

/// A value in a YAML file that knows where it stands, so that every complaint about it carries
/// file:line:col. Each accessor throws InputError when the value is of another kind or out of
/// range, naming the value and what would be accepted.
class YamlValue {
 public:
  /// Makes value number `node` of the document; for the reader only.
  YamlValue(std::shared_ptr<const YamlDocument> document, std::uint32_t node);

  SourcePosition position() const;
  bool is_scalar() const;
  bool is_sequence() const;
  bool is_mapping() const;

  std::string string() const;
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  bool boolean() const;
  Bytes bytes() const;
  BytesPerSecond rate() const;  ///< positive
  Seconds time() const;         ///< zero or more
  /// A share written as "10%" or "0.1", above 0 and at most `most`.
  double fraction(double most = 1) const;
  double share(double most = 1) const;  ///< the same, or 0
  std::vector<YamlValue> sequence() const;
  /// The mapping, after checking that it has no key twice and none but those allowed. At the root,
  /// `collsim` is always allowed.
  YamlMapping mapping(std::span<const std::string_view> allowed_keys) const;
  YamlMapping mapping(std::initializer_list<std::string_view> allowed_keys) const;
  /// The mapping with keys that the writer chooses (names); still none twice.
  YamlMapping free_mapping() const;

  /// Throws InputError at this place.
  [[noreturn]] void fail(const std::string& wrong, const std::string& accepted) const;

 private:
  friend class YamlDraft;
  double number_or_percent(const std::string& accepted) const;
  void collect_entries(YamlMapping& mapping) const;

  std::shared_ptr<const YamlDocument> document_;
  std::uint32_t node_;
};

class YamlMapping {
 public:
  /// Throws InputError at the mapping when the key is missing.
  YamlValue at(std::string_view key) const;
  std::optional<YamlValue> find(std::string_view key) const;
  /// What the key says, or `otherwise` where it is missing.
  std::string string_or(std::string_view key, std::string_view otherwise) const;
  std::int64_t integer_or(std::string_view key, std::int64_t least, std::int64_t most,
                          std::int64_t otherwise) const;
  Seconds time_or(std::string_view key, Seconds otherwise) const;
  double fraction_or(std::string_view key, double otherwise) const;
  double share_or(std::string_view key, double most, double otherwise) const;
  /// The entries in file order: key (as a value, for its position) and value.
  const std::vector<std::pair<YamlValue, YamlValue>>& entries() const { return entries_; }
  const YamlValue& value() const { return self_; }

 private:
  friend class YamlValue;
  explicit YamlMapping(YamlValue self) : self_(std::move(self)) {}
  YamlValue self_;
  std::vector<std::pair<YamlValue, YamlValue>> entries_;
};

/// Reads a file that says `collsim: <kind>/1` at its top and returns the root. Throws InputError:
/// no such file, not YAML, empty, several documents, nested deeper than 100, larger than 8 MiB, or
/// another kind. Of YAML, block scalars (| and >), anchors, aliases, tags and directives are not
/// accepted: nobody needs them here, and they are how a small file grows huge.
YamlValue load_yaml(const std::filesystem::path& path, std::string_view kind);
/// Reads a text as read_yaml() reads a file.
YamlValue read_yaml(const TextFile& text, std::string_view kind);
/// A JSON object of other people's, which is YAML as well: its values know where they stand. Throws
/// InputError as read_yaml() does, but for the kind.
YamlValue read_json(const TextFile& text);
/// The mapping that a command-line option says, with braces or without: "link: a, bandwidth: 10%".
/// Places are `option`, line 1 and the column in its text. Throws InputError as read_yaml() does.
YamlValue read_yaml_option(std::string_view option, std::string_view text);

}  // namespace collsim
