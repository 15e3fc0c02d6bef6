#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/cost/trust.h"
#include "tools/collsim/report/records.h"
#include "tools/collsim/report/report.h"
#include "tools/collsim/request/call_request.h"

namespace collsim::command {

/// What `faults` says of one run: how it runs, and the answer as JSON has it.
struct RankedRun {
  std::string title;
  Record ranking;
};

struct FaultsPage {
  std::vector<RankedRun> rankings;
  std::set<Trust> classes;  ///< of the healthy calls
};

/// For each run a bar for each kind of cable, the worst first, up to 30, and all of them in
/// a table.
Report faults_report(const CallRequest& request, const FaultsPage& faults,
                     const std::string& command);

}  // namespace collsim::command
