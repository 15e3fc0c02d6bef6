#pragma once

#include <map>
#include <string>

#include "tools/recorder/run_list.h"

namespace collsim::recorder {

using Environment = std::map<std::string, std::string>;

/// The namespace of a host, as tools/recorder/hosts names it.
std::string host_namespace(int host);

/// The NCCL_* variables that rank `rank` of a run has to set: the run's own, NVLink multicast off
/// unless it is allowed, and where hosts are played, what makes NCCL take them for machines.
Environment variables_of(const Run& run, int rank);

/// What a recording says of a run: these and all NCCL_* variables that the recorder itself was
/// started with, leaving out those that only say who is who and where NCCL logs.
Environment recorded_variables(const Run& run);

/// Sets them in this process.
void set_variables(const Environment& variables);

}  // namespace collsim::recorder
