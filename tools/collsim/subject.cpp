#include "tools/collsim/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"

namespace collsim::command {

namespace fs = std::filesystem;

namespace {

/// Whether a file is not a scenario, by the kind in its line `collsim: KIND/1`. Files of other
/// tools, which may describe a machine, have no such line.
bool describes_machine(const fs::path& file) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("collsim:")) return line.find("topology/") != std::string::npos;
  }
  return file.extension() != ".yaml";
}

bool is_shipped(const std::string& name, std::string_view folder) {
  const std::vector<std::string> names = shipped_names(folder);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Subject find_subject(const std::string& name) {
  if (fs::exists(name)) return {name, !fs::is_directory(name) && describes_machine(name)};
  if (is_shipped(name, "scenarios")) return {find_data_file(name, "scenarios"), false};
  if (is_shipped(name, "topologies")) return {find_data_file(name, "topologies"), true};
  std::vector<std::string> names = shipped_names("topologies");
  for (std::string& scenario : shipped_names("scenarios")) names.push_back(std::move(scenario));
  const std::string near = did_you_mean(name, names);
  throw InputError(fmt::format("no machine or scenario '{}'", name),
                   near.empty() ? "a file, or one of the names that `collsim list` prints" : near);
}

}  // namespace collsim::command
