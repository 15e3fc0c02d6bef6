#include "tools/collsim/diagnose/slow_hosts.h"

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

/// Whether some fast run was made on just these hosts.
bool was_fast(const std::vector<HostRun>& runs, const std::vector<bool>& slow,
              const std::set<std::string>& hosts) {
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!slow[i] && runs[i].hosts == hosts) return true;
  }
  return false;
}

SlowHosts suspicion(const std::vector<HostRun>& runs, const Runs& of,
                    std::vector<std::string> hosts, const std::set<std::string>& fast) {
  SlowHosts suspicion{std::move(hosts), {of.begin(), of.end()}, {}};
  std::set<std::string> others;
  for (const std::size_t run : of) {
    for (const std::string& host : runs[run].hosts) {
      if (fast.contains(host)) others.insert(host);
    }
  }
  suspicion.fast.assign(others.begin(), others.end());
  return suspicion;
}

/// What no host explains: runs whose hosts were fast at another time, and the others.
std::vector<SlowHosts> unexplained(const std::vector<HostRun>& runs, const std::vector<bool>& slow,
                                   const Runs& left, const std::set<std::string>& fast) {
  std::vector<SlowHosts> found;
  for (const bool come_and_go : {true, false}) {
    Runs of;
    for (const std::size_t run : left) {
      if (was_fast(runs, slow, runs[run].hosts) == come_and_go) of.insert(run);
    }
    if (of.empty()) continue;
    found.push_back(suspicion(runs, of, {}, fast));
    found.back().come_and_go = come_and_go;
  }
  return found;
}

}  // namespace

std::vector<bool> slow_runs(const std::vector<HostRun>& runs, double limit) {
  double fastest = 0;
  for (const HostRun& run : runs) fastest = std::max(fastest, run.busbw);
  std::vector<bool> slow;
  slow.reserve(runs.size());
  for (const HostRun& run : runs) slow.push_back(run.busbw < limit * fastest);
  return slow;
}

std::vector<SlowHosts> slow_hosts(const std::vector<HostRun>& runs, double limit) {
  const std::vector<bool> slow = slow_runs(runs, limit);
  const std::set<std::string> fast = fast_hosts(runs, slow);
  Runs left;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (slow[i]) left.insert(i);
  }
  std::vector<SlowHosts> found;
  while (!left.empty()) {
    const auto explained = explained_by(runs, left, fast);
    if (explained.empty()) {
      for (SlowHosts& each : unexplained(runs, slow, left, fast)) found.push_back(std::move(each));
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
  if (slow.come_and_go) {
    return fmt::format(
        "{} ({}) of hosts that were fast together in another run: what is slow comes and goes, "
        "such "
        "as other jobs, congestion or clocks; run it again",
        runs, fmt::join(slow.fast, ", "));
  }
  if (slow.hosts.empty()) {
    return fmt::format(
        "all hosts of {} ({}) are fast with others: look at the switches between them", runs,
        fmt::join(slow.fast, ", "));
  }
  if (slow.hosts.size() > 1) {
    const std::string with = good.empty() ? std::string("a host that is known to be good")
                                          : fmt::format("a good host, such as {}", good);
    return fmt::format("one of {} is slow, in {}: run each of them with {}",
                       fmt::join(slow.hosts, ", "), runs, with);
  }
  const std::string& host = slow.hosts.front();
  if (slow.fast.empty()) {
    return fmt::format("{} is slow, in {}; run it alone to tell its inside from its ports", host,
                       runs);
  }
  return fmt::format("{} is slow, in {}; {} in those runs {} fast with other hosts", host, runs,
                     fmt::join(slow.fast, ", "), slow.fast.size() == 1 ? "is" : "are");
}

}  // namespace collsim
