#include "tools/collsim/request/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/base/data_directory.h"
#include "sim/base/did_you_mean.h"
#include "sim/base/file_format.h"
#include "sim/base/file_status.h"
#include "sim/base/input_error.h"
#include "sim/base/text_file.h"
#include "sim/topologies/cluster_name.h"

namespace collsim::command {

namespace fs = std::filesystem;

namespace {

/// Whether a file is not a scenario, by the kind in its line `collsim: KIND/1`. Files of other
/// tools, which may describe a machine, have no such line.
bool describes_machine(const fs::path& file) {
  const auto kind = own_kind(read_text_file(file, "a machine or a scenario").content);
  return kind ? kind == "topology" : file.extension() != ".yaml";
}

bool is_shipped(const std::string& name, std::string_view folder) {
  const std::vector<std::string> names = shipped_names(folder);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Subject find_subject(const std::string& name) {
  if (is_readable_kind(name)) return {name, describes_machine(name)};
  if (is_shipped(name, "scenarios")) return {find_data_file(name, "scenarios"), false};
  if (is_shipped(name, "topologies")) return {find_data_file(name, "topologies"), true};
  if (names_unwritten_cluster(name)) return {name, true};
  if (is_folder(name)) return {name, false};  // whose reader says what it is
  require_no_more_than_absent(name);
  std::vector<std::string> names = shipped_names("topologies");
  for (std::string& scenario : shipped_names("scenarios")) names.push_back(std::move(scenario));
  const std::string near = did_you_mean(name, names);
  throw InputError(fmt::format("no machine or scenario '{}'", name),
                   near.empty() ? "a file, or one of the names that `collsim list` prints" : near);
}

}  // namespace collsim::command
