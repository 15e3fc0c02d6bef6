#include "tools/collsim/request/call_options.h"

#include <fmt/format.h>

#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/modes.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"

namespace collsim::command {

namespace po = boost::program_options;

Bytes only_size(std::string_view command, const po::variables_map& values,
                const CallRequest& request) {
  if (request.scenario.collective == Collective::barrier) return {};
  if (values.count("minbytes") == 0) {
    throw InputError(fmt::format("{}: no size", command), "-b SIZE");
  }
  return sizes_of(request).front();
}

std::optional<Rank> ranks_of_node(const po::variables_map& values, Rank ranks) {
  if (values.count("nodes") == 0) {
    if (values.count("ranks-per-node") == 0) return std::nullopt;
    const int given = values["ranks-per-node"].as<int>();
    if (given >= 1) return static_cast<Rank>(given);
    throw InputError(fmt::format("--ranks-per-node: {}", given), "1 or more");
  }
  if (values.count("ranks-per-node") != 0) {
    throw InputError("both --nodes and --ranks-per-node", "one of them");
  }
  const std::uint32_t nodes = bounded_option(values, "nodes", 1, gpu_limit);
  if (ranks % nodes == 0) return ranks / nodes;
  throw InputError(fmt::format("--nodes: {} ranks do not fill {} nodes equally", ranks, nodes),
                   "a divisor of the ranks");
}

void heed_schedules(std::string_view command, const po::variables_map& values,
                    const CallRequest& request, const std::string& by_nccl,
                    const std::string& textbook) {
  std::vector<std::string> names;
  for (const RunSpec& run : request.scenario.runs) {
    names.push_back(run.schedule == ScheduleKind::nccl ? by_nccl : textbook);
  }
  heed_only(values, command, names);
}

std::string output_file(std::string_view command, std::string_view form,
                        const po::variables_map& values) {
  if (values.count("output") == 0) {
    throw InputError(fmt::format("{}: no file to write", command),
                     fmt::format("--output {}", form));
  }
  return values["output"].as<OutputFile>().name;
}

}  // namespace collsim::command
