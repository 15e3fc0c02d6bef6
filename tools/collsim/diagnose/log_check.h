#pragma once

#include <string>
#include <vector>

#include "models/recordings/log_facts.h"

namespace collsim {

/// What NCCL's log says by itself, without times and without a machine, a sentence each.
struct LogCheck {
  std::vector<std::string> odd;   ///< what a healthy run on a server does not have, and what to do
  std::vector<std::string> seen;  ///< rings, channels, NICs, transports
};

/// Checks rings (each holds every rank once), channels (as many on every rank), NICs, transports
/// and settings.
LogCheck check_log(const LogFacts& facts);

}  // namespace collsim
