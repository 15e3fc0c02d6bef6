#include "sim/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace collsim {

std::string_view to_string(PrimitiveKind kind) {
  constexpr std::array<std::string_view, 8> names{"send",
                                                  "copy_send",
                                                  "recv",
                                                  "recv_copy_send",
                                                  "recv_reduce_send",
                                                  "recv_reduce_copy",
                                                  "recv_reduce_copy_send",
                                                  "recv_send"};
  static_assert(names.size() == static_cast<std::size_t>(PrimitiveKind::recv_send) + 1);
  return names.at(static_cast<std::size_t>(kind));
}

namespace {

/// With the first `kept` primitives of every stretch of `length`.
RunList shortened(const RunList& list, std::uint32_t length, std::uint32_t kept,
                  std::uint32_t chunks) {
  RunList shorter;
  std::size_t next = 0;  // run
  for_each_uniform_run(Program(list, chunks), [&](const Primitive&, std::uint32_t primitives) {
    std::uint32_t left = primitives == length ? kept : primitives;
    for (std::uint32_t seen = 0; seen < primitives; ++next) {
      Run run = list.runs()[next];
      seen += run.repeats;
      run.repeats = std::min(run.repeats, left);
      left -= run.repeats;
      shorter.append(run, chunks);
    }
  });
  return shorter;
}

}  // namespace

std::string participant_name(const Schedule& schedule, Rank participant) {
  return schedule.is_agent(participant) ? fmt::format("switch {}", participant - schedule.ranks())
                                        : fmt::format("rank {}", participant);
}

Schedule Schedule::with_program(Rank participant, std::uint32_t lane,
                                const std::vector<Primitive>& primitives) const {
  assert(participant < participants() && lane < lanes_);
  Schedule changed = *this;
  RunList& program = changed.programs_[participant * lanes_ + lane];
  program = {};
  for (const Primitive& primitive : primitives) program.append(primitive, chunks_);
  return changed;
}

Schedule Schedule::with_short_stretches(std::uint32_t length, std::uint32_t kept) const {
  assert(kept <= length);
  Schedule shorter = *this;
  for (RunList& program : shorter.programs_) program = shortened(program, length, kept, chunks_);
  return shorter;
}

bool adds_in_nvswitches(const Plan& plan) {
  const auto agents = plan.schedules.front().agents();
  return std::find(agents.begin(), agents.end(), SwitchReducer::nvswitch) != agents.end();
}

}  // namespace collsim
