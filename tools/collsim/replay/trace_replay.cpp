#include "tools/collsim/replay/trace_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "sim/base/input_error.h"
#include "sim/base/median.h"
#include "sim/execution/machine_events.h"
#include "tools/collsim/traces/trace_summary.h"

namespace collsim {

namespace {

/// The times of the calls of a class.
struct CallTimes {
  TracedCall example{};
  std::vector<double> traced{};
  std::vector<double> replayed{};
};

ProgramSchedule run_step(const TracedStep& step, CallCosts& costs, const GpuSharing& sharing) {
  try {
    return schedule_program(step.program, costs, sharing);
  } catch (const HangError& error) {
    throw InputError(fmt::format("step {}: {}", step.number, error.what()),
                     "whole steps of all ranks of one job");
  }
}

std::vector<ReplayedClass> classes_of(const TracedStep& step, const ProgramSchedule& schedule) {
  const TraceAlignment alignment = align(step.cut);
  std::map<std::tuple<std::string, std::string, double, std::string>, CallTimes> classes;
  for (std::size_t group = 0; group < step.calls.size(); ++group) {
    for (std::size_t op = 0; op < step.calls[group].size(); ++op) {
      const std::int32_t number = step.calls[group][op];
      if (number < 0) continue;
      const auto place = static_cast<std::size_t>(number);
      const TracedCall& call = step.cut[group].calls[place];
      CallTimes& times = classes[{call.communicator, call.operation, call.bytes, call.type}];
      times.example = call;
      times.traced.push_back(
          std::max(0.0, call.span.end_us - call.span.begin_us - alignment.waits[group][place]));
      const OpTime& replayed = schedule.groups[group].ops[op];
      times.replayed.push_back(in_microseconds(replayed.end - replayed.moves));
    }
  }
  std::vector<ReplayedClass> rows;
  rows.reserve(classes.size());
  for (auto& [key, times] : classes) {
    rows.push_back({times.example, times.traced.size(), median(std::move(times.traced)),
                    median(std::move(times.replayed))});
  }
  const auto sum = [](const ReplayedClass& row) {
    return std::max(row.traced_us, row.replayed_us) * static_cast<double>(row.count);
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const ReplayedClass& a, const ReplayedClass& b) { return sum(a) > sum(b); });
  return rows;
}

}  // namespace

ReplayedStep replay_step(const TracedStep& step, CallCosts& costs, const GpuSharing& sharing) {
  ReplayedStep replayed;
  replayed.schedule = run_step(step, costs, sharing);
  replayed.time_us = in_microseconds(replayed.schedule.time);
  for (std::size_t i = 0; i < step.ranks.size(); ++i) {
    const GroupSchedule& group = replayed.schedule.groups[i];
    ReplayedRank& rank = replayed.ranks.emplace_back();
    rank.traced = step.ranks[i];
    rank.end_us = in_microseconds(group.end);
    rank.compute_us = in_microseconds(group.computes);
    rank.waited_us = in_microseconds(group.waits);
    for (const auto& [name, time] : group.exposed) rank.exposed_us += in_microseconds(time);
  }
  replayed.classes = classes_of(step, replayed.schedule);
  return replayed;
}

}  // namespace collsim
