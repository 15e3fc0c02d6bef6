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

bool adds_in_nvswitches(const Plan& plan) {
  const auto agents = plan.schedules.front().agents();
  return std::find(agents.begin(), agents.end(), SwitchReducer::nvswitch) != agents.end();
}

}  // namespace collsim
