#include "models/program/program_hang.h"

#include <fmt/format.h>

#include <deque>
#include <stdexcept>
#include <string>

#include "sim/execution/machine_events.h"

namespace collsim {

namespace {

using WaitingCalls = std::vector<std::optional<WaitingCall>>;

/// The shortest cycle of waits that leads back to a group; none if there is no such cycle.
std::vector<std::uint32_t> cycle_from(std::uint32_t start, const WaitingCalls& waiting) {
  std::vector<std::optional<std::uint32_t>> from(waiting.size());
  std::deque<std::uint32_t> open{start};
  while (!open.empty()) {
    const std::uint32_t at = open.front();
    open.pop_front();
    if (!waiting[at]) continue;
    for (const std::uint32_t next : waiting[at]->waited_for) {
      if (next == start) {
        std::vector<std::uint32_t> cycle;
        for (std::uint32_t back = at; back != start; back = *from[back]) cycle.push_back(back);
        cycle.push_back(start);
        return {cycle.rbegin(), cycle.rend()};
      }
      if (from[next]) continue;
      from[next] = at;
      open.push_back(next);
    }
  }
  return {};
}

std::vector<std::uint32_t> hanging_groups(const WaitingCalls& waiting) {
  std::vector<std::uint32_t> best;
  std::vector<std::uint32_t> all;
  for (std::uint32_t start = 0; start < waiting.size(); ++start) {
    if (!waiting[start]) continue;
    all.push_back(start);
    const std::vector<std::uint32_t> cycle = cycle_from(start, waiting);
    if (!cycle.empty() && (best.empty() || cycle.size() < best.size())) best = cycle;
  }
  return best.empty() ? all : best;
}

}  // namespace

void report_hang(const CallProgram& program, const WaitingCalls& waiting) {
  std::string text;
  for (const std::uint32_t group : hanging_groups(waiting)) {
    const WaitingCall& at = waiting[group].value();
    const RankGroup& ranks = program.groups[group];
    const std::string& name = ranks.ops[at.op].name;
    text += fmt::format("{}'{}' waits in op {}{} ({} on '{}')", text.empty() ? "" : "; ",
                        ranks.name, at.op + 1, name.empty() ? "" : fmt::format(" '{}'", name),
                        to_string(at.call.kind), program.communicators[at.call.communicator].name);
  }
  if (text.empty()) throw std::logic_error("a program hangs and none of its groups waits");
  throw HangError(0, 0, 0, fmt::format("the program hangs: {}", text));
}

}  // namespace collsim
