#include "sim/plan/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "sim/plan/checker_run.h"

namespace collsim {

namespace {

// Notes who uses an end; a second program there is a violation.
void note_end(std::vector<std::uint32_t>& end, ConnectionId id, std::uint32_t program,
              const Schedule& schedule, ViolationLog& log) {
  if (end[id] == nobody) end[id] = program;
  if (end[id] == program) return;
  Violation violation;
  violation.kind = ViolationKind::shared_connection;
  violation.rank = program / schedule.lanes();
  violation.lane = program % schedule.lanes();
  log.add(std::move(violation), [&] {
    const Connection& connection = schedule.connections()[id];
    return fmt::format("{}, channel {}, uses its connection {} -> {} from lanes {} and {}",
                       participant_name(schedule, program / schedule.lanes()), log.channel(),
                       connection.src, connection.dst, end[id] % schedule.lanes(),
                       program % schedule.lanes());
  });
}

ConnectionEnds find_ends(const Schedule& schedule, ViolationLog& log) {
  ConnectionEnds ends;
  ends.sender.assign(schedule.connections().size(), nobody);
  ends.receiver = ends.sender;
  std::uint32_t number = 0;
  for_each_program(schedule, [&](Rank, std::uint32_t, const Program& program) {
    for (const Primitive& primitive : program) {
      for (const ConnectionId id : schedule.peers(primitive.send_group)) {
        note_end(ends.sender, id, number, schedule, log);
      }
      for (const ConnectionId id : schedule.peers(primitive.receive_group)) {
        note_end(ends.receiver, id, number, schedule, log);
      }
    }
    ++number;
  });
  return ends;
}

// Which chunks a schedule moves.
std::vector<bool> carried_chunks(const Schedule& schedule) {
  std::vector<bool> carried(schedule.chunks());
  for_each_program(schedule, [&](Rank, std::uint32_t, const Program& program) {
    for (const Primitive& primitive : program) {
      const auto begin = carried.begin() + primitive.first_chunk;
      std::fill(begin, begin + primitive.chunk_count, true);
    }
  });
  return carried;
}

/// Which chunks must be right at the end of each schedule: all, or where channels divide them those
/// that it carries, and those that nobody does.
std::vector<std::vector<bool>> judged_chunks(const Plan& plan, CheckReport& report,
                                             const CheckOptions& options) {
  std::vector<std::vector<bool>> judged;
  for (const Schedule& schedule : plan.schedules) {
    judged.push_back(plan.channels_divide_chunks ? carried_chunks(schedule)
                                                 : std::vector<bool>(schedule.chunks(), true));
  }
  if (!plan.channels_divide_chunks) return judged;
  for (std::uint32_t chunk = 0; chunk < plan.schedule(0).chunks(); ++chunk) {
    std::vector<std::uint32_t> carriers;
    for (std::uint32_t channel = 0; channel < plan.channels(); ++channel) {
      if (judged[plan.schedule_of_channel[channel]][chunk]) carriers.push_back(channel);
    }
    if (carriers.empty()) judged.front()[chunk] = true;
    if (carriers.size() < 2) continue;
    Violation violation;
    violation.kind = ViolationKind::shared_chunk;
    violation.chunks = {chunk, 1};
    ViolationLog(report, options, carriers.front()).add(std::move(violation), [&] {
      return fmt::format("channels {} and {} both carry chunk {}", carriers[0], carriers[1], chunk);
    });
  }
  return judged;
}

bool forwards_partial_sums(const Plan& plan) {
  for (const Schedule& schedule : plan.schedules) {
    for (Rank rank = 0; rank < schedule.participants(); ++rank) {
      for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
        for (const Run& run : schedule.program(rank, lane).runs()) {
          if (receives(run.first.kind) && !stores(run.first.kind)) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace

std::string_view to_string(ViolationKind kind) {
  constexpr std::array<std::string_view, 9> names{"missing contribution",
                                                  "doubled contribution",
                                                  "wrong chunks",
                                                  "unreceived message",
                                                  "deadlock",
                                                  "redundant copy",
                                                  "foreign contribution",
                                                  "shared chunk",
                                                  "shared connection"};
  static_assert(names.size() == static_cast<std::size_t>(ViolationKind::shared_connection) + 1);
  return names.at(static_cast<std::size_t>(kind));
}

std::vector<std::uint32_t> default_credits(const Plan& plan) {
  const auto least = std::max<std::uint32_t>(plan.min_credits, forwards_partial_sums(plan) ? 2 : 1);
  std::vector<std::uint32_t> depths{least};
  for (const std::uint32_t depth : {2U, 3U, 4U, 8U}) {
    if (depth > least && (least > 1 || depth != 4)) depths.push_back(depth);
  }
  return depths;
}

CheckReport check(const Plan& plan, const CheckOptions& options) {
  const auto depths = options.credits.empty() ? default_credits(plan) : options.credits;
  CheckReport report;
  report.channels = plan.channels();
  report.schedules = static_cast<std::uint32_t>(plan.schedules.size());
  const auto judged = judged_chunks(plan, report, options);
  std::uint64_t seed = options.seed;
  for (std::uint32_t s = 0; s < report.schedules; ++s) {
    const auto& of_channel = plan.schedule_of_channel;
    const auto channel = std::find(of_channel.begin(), of_channel.end(), s) - of_channel.begin();
    ViolationLog log(report, options, static_cast<std::uint32_t>(channel));
    const Schedule& schedule = plan.schedules[s];
    const ConnectionEnds ends = find_ends(schedule, log);
    if (!report.ok()) continue;  // without an order there is nothing to run
    for (const std::uint32_t credits : depths) {
      for (std::uint32_t order = 0; order < options.orders; ++order) {
        report.messages +=
            CheckerRun(plan, schedule, ends, judged[s], options.loops, credits, seed++, log)
                .execute();
        ++report.runs;
      }
    }
  }
  return report;
}

}  // namespace collsim
