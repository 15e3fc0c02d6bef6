#include "sim/plan/plan.h"

#include <fmt/format.h>

#include <utility>

namespace collsim {

std::string_view to_string(PrimitiveKind kind) {
  switch (kind) {
    case PrimitiveKind::send:
      return "send";
    case PrimitiveKind::copy_send:
      return "copy_send";
    case PrimitiveKind::recv:
      return "recv";
    case PrimitiveKind::recv_copy_send:
      return "recv_copy_send";
    case PrimitiveKind::recv_reduce_send:
      return "recv_reduce_send";
    case PrimitiveKind::recv_reduce_copy:
      return "recv_reduce_copy";
    case PrimitiveKind::recv_reduce_copy_send:
      return "recv_reduce_copy_send";
    case PrimitiveKind::recv_send:
      return "recv_send";
  }
  return "?";
}

std::string participant_name(const Schedule& schedule, Rank participant) {
  return schedule.is_agent(participant) ? fmt::format("switch {}", participant - schedule.ranks())
                                        : fmt::format("rank {}", participant);
}

Schedule Schedule::with_program(Rank participant, std::uint32_t lane,
                                std::vector<Primitive> primitives) const {
  assert(participant < participants() && lane < lanes_);
  Schedule changed = *this;
  changed.programs_[participant * lanes_ + lane] = std::move(primitives);
  return changed;
}

}  // namespace collsim
