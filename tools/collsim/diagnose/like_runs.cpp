#include "tools/collsim/diagnose/like_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "sim/base/median.h"
#include "sim/base/text.h"

namespace collsim {

namespace {

/// Which parts of the hosts a run used: no other call.
constexpr std::array<std::string_view, 2> choices_of_parts{"NCCL_IB_HCA", "NCCL_SOCKET_IFNAME"};

/// The sizes that all runs have of all their calls; from 1 MiB on where there are any.
std::vector<std::pair<RecordedCall, Bytes>> common_sizes(const std::vector<const LikeRun*>& runs) {
  constexpr Bytes large{1 << 20};
  std::vector<std::pair<RecordedCall, Bytes>> common;
  for (const auto& [call, times] : runs.front()->times) {
    for (const auto& [size, time] : times) {
      const bool all = std::all_of(
          runs.begin(), runs.end(), [&, &call = call, &size = size](const LikeRun* run) {
            const auto found = run->times.find(call);
            return found != run->times.end() && found->second.contains(size);
          });
      if (all) common.emplace_back(call, size);
    }
  }
  const auto is_small = [&](const auto& each) { return each.second < large; };
  if (!std::all_of(common.begin(), common.end(), is_small)) std::erase_if(common, is_small);
  return common;
}

/// The mean of log(1 / time).
double log_speed(const LikeRun& run, const std::vector<std::pair<RecordedCall, Bytes>>& sizes) {
  double sum = 0;
  for (const auto& [call, size] : sizes) sum -= std::log(run.times.at(call).at(size).value);
  return sum / static_cast<double>(sizes.size());
}

/// Hosts, and ports where runs differ in them.
std::set<std::string> parts_of(const LikeRun& run, bool with_ports) {
  std::set<std::string> parts = run.hosts;
  if (!with_ports) return parts;
  for (const std::string& port : run.ports) {
    parts.insert("rail " + port);
    for (const std::string& host : run.hosts) parts.insert(fmt::format("{}/{}", host, port));
  }
  return parts;
}

}  // namespace

std::set<std::string> named_ports(std::string_view list) {
  std::set<std::string> names;
  if (list.starts_with('^')) return names;
  for (std::string name : split(list, ',')) {
    name.erase(0, name.find_first_not_of("= "));
    name.resize(std::min(name.size(), name.find(':')));
    if (!name.empty()) names.insert(name);
  }
  return names;
}

LikeRun like_run(const Recording& recording, const LogFacts& facts) {
  LikeRun run;
  const auto said = [&](const char* name) {
    const auto found = recording.machine.find(name);
    return found == recording.machine.end() ? std::string() : found->second;
  };
  run.gpu = said("gpu");
  run.nccl = said("nccl").empty() ? facts.nccl : said("nccl");
  run.hosts = recording.hosts;
  std::map<RecordedCall, std::map<Bytes, std::pair<double, int>>> sums;
  for (const RecordedRow& row : recording.rows) {
    if (!row.collective || row.ranks == 0) continue;
    RecordedCall call = call_of(row);
    call.in_place = false;
    for (const std::string_view name : choices_of_parts) {
      const auto found = call.variables.find(std::string(name));
      if (found == call.variables.end()) continue;
      if (name == "NCCL_IB_HCA") run.ports = named_ports(found->second);
      call.variables.erase(found);
    }
    auto& [sum, count] = sums[call][row.size];
    sum += std::log(row.time.value);
    ++count;
  }
  if (run.ports.empty()) run.ports = facts.nics;
  for (const auto& [call, sizes] : sums) {
    for (const auto& [size, sum] : sizes) {
      run.times[call][size] = Seconds{std::exp(sum.first / sum.second)};
    }
  }
  return run;
}

bool are_alike(const LikeRun& a, const LikeRun& b) {
  const auto same_call = [](const auto& one, const auto& other) {
    return one.first == other.first;
  };
  return a.gpu == b.gpu && a.nccl == b.nccl && !a.times.empty() &&
         std::equal(a.times.begin(), a.times.end(), b.times.begin(), b.times.end(), same_call);
}

std::vector<HostRun> runs_beside_each_other(const std::vector<const LikeRun*>& runs) {
  const auto sizes = common_sizes(runs);
  if (sizes.empty()) return {};
  const bool with_ports = std::any_of(runs.begin(), runs.end(), [&](const LikeRun* run) {
    return run->ports != runs.front()->ports;
  });
  std::vector<HostRun> beside;
  double fastest = -HUGE_VAL;
  for (const LikeRun* run : runs) {
    beside.push_back({parts_of(*run, with_ports), log_speed(*run, sizes), sizes.back().second});
    fastest = std::max(fastest, beside.back().busbw);
  }
  for (HostRun& run : beside) run.busbw = std::exp(run.busbw - fastest);
  return beside;
}

double like_limit(const std::vector<HostRun>& runs, const Spread& spread) {
  constexpr double least = 0.1;
  constexpr double deviations = 4;  // of many hosts none may be accused by chance
  constexpr double deviation_per_median = 1.4826;
  constexpr std::size_t enough = 8;  // runs, whose faster half shows what equal hosts differ by
  double off = least;
  if (runs.empty()) return std::exp(-off);
  off = std::max(off, deviations * std::sqrt(2.0) * spread.noise(runs.front().size));
  if (runs.size() >= enough) {
    std::vector<double> speeds;
    speeds.reserve(runs.size());
    for (const HostRun& run : runs) speeds.push_back(std::log(run.busbw));
    std::sort(speeds.rbegin(), speeds.rend());
    speeds.resize(speeds.size() / 2);
    const double middle = median(speeds);
    for (double& speed : speeds) speed = std::abs(speed - middle);
    off = std::max(off, deviations * deviation_per_median * median(std::move(speeds)) - middle);
  }
  return std::exp(-off);
}

}  // namespace collsim
