#pragma once

#include <string>

#include "tools/collsim/replay/job_trace.h"

namespace collsim {

/// Reads an execution trace of Chakra, as JSON or as protobuf messages, plain or compressed by
/// gzip. Throws InputError for what is none, and for more than it may hold.
RankTrace read_chakra(const std::string& file);

}  // namespace collsim
