#include "sim/plan.h"

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
  }
  return "?";
}

Schedule Schedule::with_program(Rank rank, std::uint32_t lane,
                                std::vector<Primitive> primitives) const {
  assert(rank < ranks_ && lane < lanes_);
  Schedule changed = *this;
  changed.programs_[rank * lanes_ + lane] = std::move(primitives);
  return changed;
}

}  // namespace collsim
