#pragma once

#include <filesystem>
#include <string>

namespace collsim {

/// A text with the name that messages about it carry.
struct TextFile {
  std::string name;
  std::string content;
};

/// Reads a whole file, pipe or device. Throws InputError, which says that `accepted` ("a YAML
/// file") would be, where there is none, it cannot be read, or it is larger than 8 MiB.
TextFile read_text_file(const std::filesystem::path& path, const std::string& accepted);

}  // namespace collsim
