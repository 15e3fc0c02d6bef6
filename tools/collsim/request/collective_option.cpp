#include "tools/collsim/request/collective_option.h"

#include <fmt/format.h>

#include <vector>

#include "sim/base/did_you_mean.h"
#include "sim/base/input_error.h"

namespace collsim::command {

Collective parse_collective(const std::string& name) {
  if (const auto collective = find_collective(name)) return *collective;
  std::vector<std::string> names;
  for (const Collective each : all_collectives()) names.emplace_back(to_string(each));
  throw InputError(fmt::format("--collective: there is no '{}'", name),
                   names_instead_of(name, names));
}

Collective collective_option(const boost::program_options::variables_map& values) {
  return parse_collective(values["collective"].as<std::string>());
}

}  // namespace collsim::command
