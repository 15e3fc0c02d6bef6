#include "models/diagnosis/slow_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace collsim {

namespace {

using Runs = std::set<std::size_t>;

/// Hosts of runs that are not slow.
std::set<std::string> fast_hosts(const std::vector<HostRun>& runs, const std::vector<bool>& slow) {
  std::set<std::string> fast;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!slow[i]) fast.insert(runs[i].hosts.begin(), runs[i].hosts.end());
  }
  return fast;
}

/// What is left to explain, by the host that could.
std::map<std::string, Runs> explained_by(const std::vector<HostRun>& runs, const Runs& left,
                                         const std::set<std::string>& fast) {
  std::map<std::string, Runs> explained;
  for (const std::size_t run : left) {
    for (const std::string& host : runs[run].hosts) {
      if (!fast.contains(host)) explained[host].insert(run);
    }
  }
  return explained;
}

SlowHosts suspicion(const std::vector<HostRun>& runs, const Runs& slow,
                    std::vector<std::string> hosts, const std::set<std::string>& fast) {
  SlowHosts suspicion{std::move(hosts), {slow.begin(), slow.end()}, {}};
  std::set<std::string> others;
  for (const std::size_t run : slow) {
    for (const std::string& host : runs[run].hosts) {
      if (fast.contains(host)) others.insert(host);
    }
  }
  suspicion.fast.assign(others.begin(), others.end());
  return suspicion;
}

}  // namespace

std::vector<bool> slow_runs(const std::vector<HostRun>& runs) {
  double fastest = 0;
  for (const HostRun& run : runs) fastest = std::max(fastest, run.busbw);
  std::vector<bool> slow;
  slow.reserve(runs.size());
  for (const HostRun& run : runs) slow.push_back(run.busbw < slow_next_to_like * fastest);
  return slow;
}

std::vector<SlowHosts> slow_hosts(const std::vector<HostRun>& runs) {
  const std::vector<bool> slow = slow_runs(runs);
  const std::set<std::string> fast = fast_hosts(runs, slow);
  Runs left;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (slow[i]) left.insert(i);
  }
  std::vector<SlowHosts> found;
  while (!left.empty()) {
    const auto explained = explained_by(runs, left, fast);
    if (explained.empty()) {
      found.push_back(suspicion(runs, left, {}, fast));
      break;
    }
    Runs most;
    for (const auto& [host, of_host] : explained) {
      if (of_host.size() > most.size()) most = of_host;
    }
    std::vector<std::string> hosts;
    for (const auto& [host, of_host] : explained) {
      if (of_host == most) hosts.push_back(host);
    }
    found.push_back(suspicion(runs, most, std::move(hosts), fast));
    for (const std::size_t run : most) left.erase(run);
  }
  return found;
}

std::string describe(const SlowHosts& slow, const std::string& good) {
  const std::string runs =
      fmt::format("{} slow run{}", slow.runs.size(), slow.runs.size() == 1 ? "" : "s");
  if (slow.hosts.empty()) {
    return fmt::format(
        "all hosts of {} ({}) are fast with others: look at the switches between them", runs,
        fmt::join(slow.fast, ", "));
  }
  if (slow.hosts.size() > 1) {
    return fmt::format("one of {} is slow, in {}: run each of them with a good host, such as {}",
                       fmt::join(slow.hosts, ", "), runs, good);
  }
  if (slow.fast.empty()) return fmt::format("{} is slow, in {}", slow.hosts.front(), runs);
  return fmt::format("{} is slow, in {}; {} in those runs {} fast with other hosts",
                     slow.hosts.front(), runs, fmt::join(slow.fast, ", "),
                     slow.fast.size() == 1 ? "is" : "are");
}

}  // namespace collsim
