#include "tools/collsim/watch/watcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace collsim::command {

namespace {

constexpr std::size_t max_watched = 4096;  // communicators
constexpr double worth_naming = 1.1;       // as in SlowdownDetector
constexpr std::size_t late_kept = 12;      // calls of which the last ranks count
constexpr double majority = 0.6;

/// Calls of one collective whose sizes share a power of two scatter alike.
std::uint64_t kind_of(const StreamedCall& call) {
  const auto power = static_cast<std::uint64_t>(std::ilogb(static_cast<double>(call.bytes) + 1));
  return static_cast<std::uint64_t>(call.collective.value_or(Collective::barrier)) * 64 + power;
}

/// Beyond this even first calls are slow: twice as far from the middle of the range as its end. Of
/// healthy machines one in 200 is, where logarithms are normal.
double slowest(const ExpectedTime& expected) {
  const double low = std::log(expected.low / expected.time);
  const double high = std::log(expected.high / expected.time);
  return high + (high - low) / 2;
}

Sample sample_of(const StreamedCall& call, double log_ratio, double slowest) {
  return {kind_of(call), log_ratio, slowest, call.number, call.written_us};
}

}  // namespace

std::string_view to_string(Symptom symptom) {
  constexpr std::array names{std::string_view("small calls"), std::string_view("large calls"),
                             std::string_view("late rank")};
  return names.at(static_cast<std::size_t>(symptom));
}

std::vector<Alarm> Watcher::add(const StreamedCall& call) {
  std::vector<Alarm> alarms;
  if (watched_.size() >= max_watched && !watched_.contains(call.communicator)) {
    watched_.erase(std::min_element(
        watched_.begin(), watched_.end(),
        [](const auto& one, const auto& other) { return one.second.heard < other.second.heard; }));
  }
  Watched& watched = watched_[call.communicator];
  watched.heard = ++calls_;
  watched.hosts.insert(call.hosts.begin(), call.hosts.end());
  const std::optional<ExpectedTime>& expected = expected_.of(call);
  if (!expected || !(call.microseconds > 0)) return alarms;
  ++judged_;
  watched.latest = call;
  const double ratio = std::log(call.microseconds / expected->time);
  consider(watched, expected->is_small ? Symptom::small_calls : Symptom::large_calls,
           sample_of(call, ratio, slowest(*expected)), call, alarms);
  if (call.longest > call.microseconds) {
    watched.last_ranks.push_back(call.last_rank);
    if (watched.last_ranks.size() > late_kept) watched.last_ranks.pop_front();
    // Nobody expects how long ranks wait, so only a change of it tells something.
    const double wait = std::log(call.longest / call.microseconds);
    consider(watched, Symptom::late_rank, sample_of(call, wait, INFINITY), call, alarms);
  }
  return alarms;
}

std::vector<Alarm> Watcher::finish() {
  std::vector<Alarm> alarms;
  for (auto& [id, watched] : watched_) {
    for (auto& [symptom, detector] : watched.detectors) {
      if (const auto slowdown = detector.finish()) {
        alarms.push_back(alarm_of(watched, symptom, *slowdown, watched.latest));
      }
    }
  }
  return alarms;
}

void Watcher::consider(Watched& watched, Symptom symptom, const Sample& sample,
                       const StreamedCall& call, std::vector<Alarm>& alarms) {
  if (const auto slowdown = watched.detectors[symptom].add(sample)) {
    alarms.push_back(alarm_of(watched, symptom, *slowdown, call));
  }
}

Alarm Watcher::alarm_of(Watched& watched, Symptom symptom, const Slowdown& slowdown,
                        const StreamedCall& call) {
  return {call.communicator,
          call.ranks,
          call.nodes,
          symptom,
          slowdown,
          call,
          expected_.of(call),
          suspects(watched),
          cause_of(watched, symptom)};
}

std::string Watcher::cause_of(Watched& watched, Symptom symptom) const {
  if (symptom == Symptom::late_rank) {
    std::map<std::int64_t, std::size_t> times;
    for (const std::int64_t rank : watched.last_ranks) ++times[rank];
    for (const auto& [rank, count] : times) {
      const auto all = static_cast<double>(watched.last_ranks.size());
      if (static_cast<double>(count) < majority * all) continue;
      return fmt::format("rank {} comes last: its GPU or its host computes slower than the others'",
                         rank);
    }
    return "ranks come at unlike times, another one last each time: data loading, or a busy host";
  }
  const Symptom other =
      symptom == Symptom::small_calls ? Symptom::large_calls : Symptom::small_calls;
  const SlowdownDetector& beside = watched.detectors[other];
  if (beside.calls() == 0) {
    return symptom == Symptom::large_calls
               ? "a link, a NIC or a port with less than its rate, or a GPU shared with other work"
               : "a busy CPU or GPU, or a longer path";
  }
  if (beside.is_slow() || beside.recent_factor() >= worth_naming) {
    return "calls of all sizes: a GPU or a host shared with other work, or its clocks";
  }
  return symptom == Symptom::large_calls
             ? "large calls alone: a link, a NIC or a port with less than its rate"
             : "small calls alone: a busy CPU, a longer path, or a timer";
}

std::vector<std::string> Watcher::suspects(const Watched& watched) const {
  std::set<std::string> left = watched.hosts;
  for (const auto& [id, other] : watched_) {
    const bool is_slow =
        std::any_of(other.detectors.begin(), other.detectors.end(), [](const auto& each) {
          return each.second.is_slow() || each.second.recent_factor() >= worth_naming;
        });
    // One inside of a host says nothing of the host's NICs.
    const bool says_nothing =
        other.detectors.empty() || (watched.latest.nodes > 1 && other.latest.nodes == 1);
    if (&other == &watched || is_slow || says_nothing) continue;
    for (const std::string& host : other.hosts) left.erase(host);
  }
  // Where others are well on all of its hosts, none of them is more suspect than the rest.
  const std::set<std::string>& named = left.empty() ? watched.hosts : left;
  return {named.begin(), named.end()};
}

}  // namespace collsim::command
