#include "tools/collsim/request/machine_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/call/rank_gpus.h"
#include "models/imports/machine_parts.h"
#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/request/rank_list.h"
#include "tools/collsim/request/word_options.h"

namespace collsim::command {

namespace po = boost::program_options;

void add_machine_options(po::options_description& options) {
  options.add_options()  //
      ("topology,t", po::value<std::string>(),
       "machine: a file, or a shipped name such as hgx-h200")                            //
      ("ranks,n", po::value<int>(), "number of ranks: the first N GPUs (default: all)")  //
      ("ranks-per-node", po::value<int>(),
       "number of ranks of every node: its first N GPUs (default: all)")  //
      ("nodes", po::value<std::int64_t>(),
       "so many nodes of the machine, which are more or fewer than it has")  //
      ("fabric", po::value<std::string>(),
       "network between the nodes, instead of the machine's: a shipped one (`collsim topo list`) "
       "or a file")  //
      ("rank-list", po::value<std::string>(),
       "use these GPUs, in the order of ranks: 0,2,4..6 or node1/gpu0,node0/gpu3");
}

void add_release_options(po::options_description& options) {
  options.add_options()  //
      ("env", po::value<std::vector<std::string>>()->composing(),
       "NCCL variable K=V; may be repeated")  //
      ("nccl-version", po::value<NcclVersion>(), "2.18 to 2.30 (default 2.30)");
}

std::optional<std::uint32_t> count_option(const po::variables_map& values, const char* option) {
  if (values.count(option) == 0) return std::nullopt;
  const int value = values[option].as<int>();
  if (value < 1) throw InputError(fmt::format("--{}: {}", option, value), "1 or more");
  return static_cast<std::uint32_t>(value);
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
  for (const char* option : {"ranks", "ranks-per-node"}) {
    if (values.count(option) == 0) continue;
    throw InputError(fmt::format("both --rank-list and --{}", option), "one of them");
  }
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
