#pragma once

#include <vector>

#include "tools/collsim/diagnose/diagnosis_report.h"

namespace collsim::command {

/// Holds logs of the same calls on the same GPUs, but on other hosts or at other times, against
/// each other, whatever is known of their machine. One that is slow next to its like by more than
/// noise is low; and the hosts, ports and rails that explain it are named (DiagnosedLog::suspects).
void compare_like_logs(std::vector<DiagnosedLog>& logs, const Spread& spread);

}  // namespace collsim::command
