#pragma once

#include <vector>

#include "tools/collsim/diagnose/diagnosis_report.h"

namespace collsim::command {

/// Holds logs of the same calls on the same machine, but on other hosts, against each other. One
/// that is slow next to its like is low, whatever is known of the machine; and the hosts that
/// explain it are named (DiagnosedLog::suspects).
void compare_like_logs(std::vector<DiagnosedLog>& logs);

}  // namespace collsim::command
