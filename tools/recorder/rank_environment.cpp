#include "tools/recorder/rank_environment.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "sim/nccl/nccl_variable.h"

namespace collsim::recorder {

std::string host_namespace(int host) {
  std::string name = "collsim-host";
  name += std::to_string(host);
  return name;
}

Environment variables_of(const Run& run, int rank) {
  // What is there first stays: NVLS off before the run's own, those before what hosts need.
  Environment variables;
  if (!run.allow_nvls) variables.insert({"NCCL_NVLS_ENABLE", "0"});
  variables.insert(run.environment.begin(), run.environment.end());
  if (run.hosts) {
    variables.insert_or_assign("NCCL_HOSTID", host_namespace(rank / run.hosts->gpus));
    // "=" asks for exactly this name, which the script gives.
    variables.insert({"NCCL_SOCKET_IFNAME", "=net0"});
    variables.insert({"NCCL_IB_DISABLE", "1"});
    variables.insert({"NCCL_MNNVL_ENABLE", "0"});
  }
  return variables;
}

Environment recorded_variables(const Run& run) {
  Environment variables = variables_of(run, 0);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (text.substr(0, 5) != "NCCL_" || equals == std::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  for (auto it = variables.begin(); it != variables.end();) {
    const std::string_view name = it->first;
    const bool plumbing = !is_nccl_setting(name) || name.substr(0, 10) == "NCCL_DEBUG" ||
                          name == "NCCL_HOSTID" || name == "NCCL_TOPO_DUMP_FILE" ||
                          name == "NCCL_GRAPH_DUMP_FILE";
    it = plumbing ? variables.erase(it) : std::next(it);
  }
  return variables;
}

void set_variables(const Environment& variables) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
}

}  // namespace collsim::recorder
