#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace collsim {

// What a YamlValue refers to. For the reader and the draft; others include yaml_reader.h.

enum class YamlKind : std::uint8_t { nothing, scalar, sequence, mapping };

struct YamlNode {
  YamlKind kind = YamlKind::nothing;
  int line = 0;
  int column = 0;
  std::string text{};
  std::vector<std::uint32_t> children{};  ///< of a mapping: key, value, key, value ...
  /// The file in which the node was written, if that is not the document's own file.
  std::shared_ptr<const std::string> file{};
};

class YamlDocument {
 public:
  std::string file;
  std::vector<YamlNode> nodes;
};

}  // namespace collsim
