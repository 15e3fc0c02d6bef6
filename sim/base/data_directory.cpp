#include "sim/base/data_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/installation.h"

namespace collsim {

namespace fs = std::filesystem;

namespace {

bool holds_data(const fs::path& folder) {
  return is_folder(folder / "models/data/calibrations");
}

}  // namespace

std::vector<std::string> shipped_names(std::string_view folder) {
  std::vector<std::string> names;
  for (const fs::path& file : yaml_files(data_directory() / folder)) {
    names.push_back(file.stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string shipped_names_instead_of(std::string_view name, std::string_view folder) {
  const std::vector<std::string> names = shipped_names(folder);
  const std::string near = did_you_mean(name, names);
  return near.empty() ? fmt::format("a path, or one of {}", fmt::join(names, ", ")) : near;
}

fs::path data_directory() {
  // Not thread-safe against setenv, which nothing here calls.
  if (const char* chosen = std::getenv("COLLSIM_DATA"); chosen != nullptr && *chosen != '\0') {
    if (holds_data(chosen)) return chosen;
    throw InputError(
        fmt::format("COLLSIM_DATA is '{}', which has no models/data/calibrations", chosen),
        "the root of collsim's source tree, or <prefix>/share/collsim");
  }
  if (const auto installed = find_shared_data(); installed && holds_data(*installed)) {
    return *installed;
  }
  throw InputError("collsim's data files were not found near the program",
                   "set COLLSIM_DATA to the root of collsim's source tree");
}

fs::path shipped_file(std::string_view name, std::string_view folder) {
  return data_directory() / folder / (std::string(name) + ".yaml");
}

fs::path find_data_file(std::string_view name, std::string_view folder, const fs::path& base) {
  const fs::path path(name);
  fs::path as_given = path.is_absolute() ? path : base / path;
  const bool bare = !path.has_parent_path() && !path.has_extension();
  const bool hides_nothing = !bare || !is_folder(as_given);
  if (hides_nothing && is_there(as_given)) return as_given;
  if (!bare) {
    throw InputError(fmt::format("{}: {}", why_not_there(as_given), as_given.string()),
                     "a path that exists, or the bare name of a shipped file");
  }
  fs::path candidate = shipped_file(name, folder);
  if (is_there(candidate)) return candidate;
  throw InputError(fmt::format("no file '{}', and none of that name is shipped", name),
                   shipped_names_instead_of(name, folder));
}

}  // namespace collsim
