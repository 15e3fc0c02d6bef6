#include "tools/collsim/request/call_options.h"

#include <fmt/format.h>

#include "sim/base/input_error.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/core/numbers.h"
#include "tools/collsim/core/options.h"
#include "tools/collsim/core/output_file.h"
#include "tools/collsim/core/replace_file.h"
#include "tools/collsim/request/machine_request.h"

namespace collsim::command {

namespace po = boost::program_options;

namespace {

/// Of every question about a call.
std::string question_options() {
  return machine_options() + "scenario calibration fault seed collective datatype ";
}

}  // namespace

std::string machine_options() {
  return "topology nodes fabric ranks ranks-per-node rank-list ";
}

std::string size_options() {
  return "minbytes maxbytes stepfactor stepbytes ";
}

std::vector<Mode> call_modes(const std::string& heeded, const std::string& by_nccl,
                             const std::string& textbook, const std::string& shown) {
  const std::string call = question_options() + "root schedule algorithm protocol " + heeded + ' ';
  return {
      {"NCCL's schedule", call + "op env nccl-version in-place graph " + by_nccl, shown},
      {"a textbook schedule", call + "alpha bandwidth channels chunk " + textbook, shown},
  };
}

Mode kernel_mode(const std::string& heeded, const std::string& shown) {
  return {"--kernels",
          question_options() + "kernels algorithm env nccl-version graph small-call " + heeded,
          shown};
}

Mode registered_mode(const std::string& heeded, const std::string& shown) {
  return {"--registered",
          question_options() +
              "registered root schedule op algorithm protocol env nccl-version in-place "
              "graph " +
              heeded,
          shown};
}

std::vector<Mode> sweep_modes(const std::string& of_calls) {
  const std::string sizes = size_options();
  std::vector<Mode> modes = call_modes(sizes + of_calls, "nccl-estimate", "op", "wide");
  modes.push_back(kernel_mode(sizes, "wide"));
  modes.push_back(registered_mode(sizes, "wide"));
  return modes;
}

Bytes only_size(std::string_view command, const po::variables_map& values,
                const CallRequest& request) {
  if (request.scenario.collective == Collective::barrier) return {};
  if (values.count("minbytes") == 0) {
    throw InputError(fmt::format("{}: no size", command), "-b SIZE");
  }
  return sizes_of(request).front();
}

std::optional<Rank> ranks_of_node(const po::variables_map& values, Rank ranks) {
  if (values.count("nodes") == 0) return count_option(values, "ranks-per-node");
  if (values.count("ranks-per-node") != 0) {
    throw InputError("both --nodes and --ranks-per-node", "one of them");
  }
  const std::uint32_t nodes = bounded_option(values, "nodes", 1, gpu_limit);
  if (ranks % nodes == 0) return ranks / nodes;
  throw InputError(fmt::format("--nodes: {} ranks do not fill {} nodes equally", ranks, nodes),
                   "a divisor of the ranks");
}

void heed_schedules(const Subcommand& subcommand, const po::variables_map& values,
                    const CallRequest& request, const std::string& by_nccl,
                    const std::string& textbook) {
  std::vector<std::string> names;
  for (const RunSpec& run : request.scenario.runs) {
    names.push_back(run.schedule == ScheduleKind::nccl ? by_nccl : textbook);
  }
  heed_only(values, subcommand, names);
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
