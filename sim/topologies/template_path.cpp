#include "sim/topologies/template_path.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "sim/base/file_status.h"
#include "sim/topologies/name_range.h"

namespace collsim {

namespace {

/// The names of the templates in the folders, for messages.
std::string templates_in(const TemplateFolders& folders) {
  std::set<std::string> names;
  for (const std::filesystem::path& folder : folders) {
    for (const auto& file : yaml_files(folder)) names.insert(file.stem().string());
  }
  if (names.empty()) return fmt::format("a file in {}", folders.front().string());
  return fmt::format("templates there are {}", fmt::join(names, ", "));
}

}  // namespace

std::filesystem::path template_path(const YamlValue& name, const TemplateFolders& folders) {
  const std::string text = name.string();
  if (!is_plain_name(text)) {
    name.fail(fmt::format("'{}' is not a template's name", text), templates_in(folders));
  }
  for (const std::filesystem::path& folder : folders) {
    std::filesystem::path path = folder / (text + ".yaml");
    if (is_there(path)) return path;
  }
  name.fail(fmt::format("there is no template '{}' ({})", text,
                        (folders.front() / (text + ".yaml")).string()),
            templates_in(folders));
}

}  // namespace collsim
