#include "tools/collsim/collective_option.h"

#include <fmt/format.h>

#include <string>

#include "sim/input_error.h"

namespace collsim::command {

Collective collective_option(const boost::program_options::variables_map& values) {
  const auto& name = values["collective"].as<std::string>();
  if (const auto collective = find_collective(name)) return *collective;
  std::string names;
  for (const Collective each : all_collectives()) {
    names += (names.empty() ? "" : ", ") + std::string(to_string(each));
  }
  throw InputError(fmt::format("--collective: there is no '{}'", name), names);
}

}  // namespace collsim::command
