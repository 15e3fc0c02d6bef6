#include "tools/collsim/core/variables_option.h"

#include <fmt/format.h>

#include <vector>

#include "sim/base/input_error.h"

namespace collsim::command {

std::map<std::string, std::string> variables_option(
    const boost::program_options::variables_map& values) {
  std::map<std::string, std::string> variables;
  if (!values.contains("env")) return variables;
  for (const std::string& setting : values["env"].as<std::vector<std::string>>()) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InputError(fmt::format("--env: '{}'", setting), "NAME=VALUE");
    }
    variables[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return variables;
}

}  // namespace collsim::command
