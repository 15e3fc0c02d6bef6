#include "tools/collsim/request/collective_option.h"

#include <fmt/format.h>

#include <vector>

#include "sim/algorithms/written_schedule.h"
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

std::optional<Collective> asked_collective(const boost::program_options::variables_map& values) {
  if (values.contains("collective") && !values["collective"].defaulted())
    return collective_option(values);
  if (!values.contains("algorithm")) return std::nullopt;
  const auto names = values["algorithm"].as<std::string>();
  const std::string first = names.substr(0, names.find(','));
  if (!names_schedule_file(first)) return std::nullopt;
  return read_schedule_file(first)->collective;
}

}  // namespace collsim::command
