#pragma once

#include <string>

#include "tools/collsim/replay/job_trace.h"

namespace collsim {

/// Reads a trace of any format that a job's traces may have. Throws InputError for others, with the
/// name of the format if it is known.
RankTrace read_job_trace(const std::string& file);

}  // namespace collsim
