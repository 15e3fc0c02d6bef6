#include "sim/topologies/template_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include "sim/topologies/name_pattern.h"

namespace collsim {

namespace {

/// The names of the templates in a directory, for messages.
std::string templates_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  if (names.empty()) return fmt::format("a file in {}", directory.string());
  return fmt::format("templates there are {}", fmt::join(names, ", "));
}

}  // namespace

std::filesystem::path template_path(const YamlValue& name, const std::filesystem::path& directory) {
  const std::string text = name.string();
  if (!is_plain_name(text)) {
    name.fail(fmt::format("'{}' is not a template's name", text), templates_in(directory));
  }
  std::filesystem::path path = directory / (text + ".yaml");
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    name.fail(fmt::format("there is no template '{}' ({})", text, path.string()),
              templates_in(directory));
  }
  return path;
}

}  // namespace collsim
