#include "tools/collsim/request/machine_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "models/call/rank_gpus.h"
#include "models/imports/machine_parts.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/request/rank_list.h"

namespace collsim::command {

namespace po = boost::program_options;

std::optional<std::uint32_t> count_option(const po::variables_map& values, const char* option) {
  if (values.count(option) == 0) return std::nullopt;
  const auto value = values[option].as<std::int64_t>();
  if (value < 1) throw InputError(fmt::format("--{}: {}", option, value), "1 or more");
  return bounded_option(values, option, 1, std::numeric_limits<std::uint32_t>::max());
}

Machine asked_machine(const po::variables_map& values, const std::string& name) {
  const bool other_nodes = values.count("nodes") != 0;
  const bool other_fabric = values.count("fabric") != 0;
  if (!other_nodes && !other_fabric) return load_machine(name);
  MachineParts parts = load_parts(name, other_fabric ? values["fabric"].as<std::string>() : "");
  if (other_nodes) parts.nodes = bounded_option(values, "nodes", 1, gpu_limit);
  return composed_machine(parts);
}

std::optional<std::vector<DeviceId>> listed_gpus(const po::variables_map& values,
                                                 const Topology& topology) {
  if (values.count("rank-list") == 0) return std::nullopt;
  return parse_rank_list(values["rank-list"].as<std::string>(), topology);
}

std::vector<DeviceId> wanted_gpus(const Topology& topology, std::optional<std::uint32_t> ranks,
                                  std::optional<std::uint32_t> per_node) {
  if (!ranks) {
    std::vector<std::uint32_t> of_node(topology.node_count());
    ranks = 0;
    for (const DeviceId gpu : topology.gpus()) {
      std::uint32_t& seen = of_node[static_cast<std::size_t>(topology.node_of(gpu))];
      if (seen++ < per_node.value_or(~0U)) ++*ranks;
    }
  }
  return first_gpus(topology, *ranks, per_node);
}

}  // namespace collsim::command
