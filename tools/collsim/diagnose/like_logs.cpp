#include "tools/collsim/diagnose/like_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tools/collsim/diagnose/slow_hosts.h"

namespace collsim::command {

namespace {

/// A host that is in no slow run; empty where there is none.
std::string good_host(const std::vector<HostRun>& runs, const std::vector<bool>& slow) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!slow[i] && !runs[i].hosts.empty()) return *runs[i].hosts.begin();
  }
  return {};
}

void make_low(DiagnosedLog& log, double limit) {
  Diagnosis& diagnosis = log.diagnosis;
  const std::string beside = fmt::format(
      "{:.2f} of the busbw of the fastest log of the same call; of equal hosts noise leaves {:.2f}",
      log.beside_like, limit);
  if (diagnosis.verdict < Verdict::low) {
    diagnosis.verdict = Verdict::low;
    diagnosis.reason = beside;
  } else {
    diagnosis.notes.push_back(beside);
  }
}

void compare_group(const std::vector<DiagnosedLog*>& logs, const Spread& spread) {
  if (logs.size() < 2) return;
  std::vector<const LikeRun*> like;
  like.reserve(logs.size());
  for (const DiagnosedLog* log : logs) like.push_back(&log->run);
  const std::vector<HostRun> runs = runs_beside_each_other(like);
  if (runs.empty()) return;
  const double limit = like_limit(runs, spread);
  const std::vector<bool> slow = slow_runs(runs, limit);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i]->beside_like = runs[i].busbw;
    if (slow[i]) make_low(*logs[i], limit);
  }
  for (const SlowHosts& each : slow_hosts(runs, limit)) {
    for (const std::size_t run : each.runs) {
      logs[run]->suspects.push_back(describe(each, good_host(runs, slow)));
    }
  }
}

}  // namespace

void compare_like_logs(std::vector<DiagnosedLog>& logs, const Spread& spread) {
  std::vector<std::vector<DiagnosedLog*>> groups;
  for (DiagnosedLog& log : logs) {
    if (log.run.times.empty() || log.diagnosis.verdict > Verdict::impossible) continue;
    auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return are_alike(group.front()->run, log.run);
    });
    if (found == groups.end()) found = groups.insert(groups.end(), {{}});
    found->push_back(&log);
  }
  for (const auto& group : groups) compare_group(group, spread);
}

}  // namespace collsim::command
