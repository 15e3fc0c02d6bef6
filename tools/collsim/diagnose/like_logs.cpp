#include "tools/collsim/diagnose/like_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/diagnosis/slow_hosts.h"

namespace collsim::command {

namespace {

/// Logs that have this in common are alike.
using Likeness = std::pair<std::string, std::vector<RecordedCall>>;

/// A host that is in no slow run; empty where there is none.
std::string good_host(const std::vector<HostRun>& runs, const std::vector<bool>& slow) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!slow[i] && !runs[i].hosts.empty()) return *runs[i].hosts.begin();
  }
  return {};
}

void make_low(DiagnosedLog& log, double share) {
  Diagnosis& diagnosis = log.diagnosis;
  const std::string beside =
      fmt::format("{:.2f} of the busbw of the fastest log of the same call on other hosts", share);
  if (diagnosis.verdict < Verdict::low) {
    diagnosis.verdict = Verdict::low;
    diagnosis.reason = beside;
  } else {
    diagnosis.notes.push_back(beside);
  }
}

void compare_group(const std::vector<DiagnosedLog*>& logs) {
  constexpr std::size_t fewest = 3;  // two of which say which of the hosts it is
  if (logs.size() < fewest) return;
  std::vector<HostRun> runs;
  double fastest = 0;
  for (const DiagnosedLog* log : logs) {
    runs.push_back({log->hosts, ratio_of(log->diagnosis)});
    fastest = std::max(fastest, runs.back().busbw);
  }
  const std::vector<bool> slow = slow_runs(runs);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (slow[i]) make_low(*logs[i], runs[i].busbw / fastest);
  }
  for (const SlowHosts& each : slow_hosts(runs)) {
    for (const std::size_t run : each.runs) {
      logs[run]->suspects.push_back(describe(each, good_host(runs, slow)));
    }
  }
}

}  // namespace

void compare_like_logs(std::vector<DiagnosedLog>& logs) {
  std::map<Likeness, std::vector<DiagnosedLog*>> groups;
  for (DiagnosedLog& log : logs) {
    const bool is_compared = !log.diagnosis.sizes.empty() && !log.hosts.empty();
    if (is_compared) groups[{log.machine, log.diagnosis.calls}].push_back(&log);
  }
  for (const auto& [likeness, group] : groups) compare_group(group);
}

}  // namespace collsim::command
