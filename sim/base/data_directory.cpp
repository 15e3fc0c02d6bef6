#include "sim/base/data_directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"
#include "sim/base/installation.h"

namespace collsim {

namespace fs = std::filesystem;

namespace {

bool holds_data(const fs::path& folder) {
  return fs::is_directory(folder / "models/calibrations");
}

}  // namespace

std::vector<std::string> shipped_names(std::string_view folder) {
  std::vector<std::string> names;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(data_directory() / folder, unreadable)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
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
    throw InputError(fmt::format("COLLSIM_DATA is '{}', which has no models/calibrations", chosen),
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
  std::error_code unreadable;
  const bool hides_nothing = !bare || !fs::is_directory(as_given, unreadable);
  if (hides_nothing && fs::exists(as_given, unreadable)) return as_given;
  if (!bare) {
    throw InputError(fmt::format("no such file: {}", as_given.string()),
                     "a path that exists, or the bare name of a shipped file");
  }
  fs::path candidate = shipped_file(name, folder);
  if (fs::exists(candidate, unreadable)) return candidate;
  throw InputError(fmt::format("no file '{}', and none of that name is shipped", name),
                   shipped_names_instead_of(name, folder));
}

}  // namespace collsim
