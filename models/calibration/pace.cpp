#include "models/calibration/pace.h"

#include "sim/cost/constants.h"

namespace collsim {

namespace {

template <typename Constants, typename Owner>
void scale(const Constants& constants, Owner& owner, double pace) {
  for (const auto& constant : constants) {
    if (!constant.scales_with_clock) continue;
    constant.in(owner) *= constant.quantity == Quantity::rate ? 1 / pace : pace;
  }
}

}  // namespace

Calibration at_pace(Calibration cost, double pace) {
  const bool sends_cost_their_own = cost.message_setup.has_value();
  scale(machine_constants, cost, pace);
  if (!sends_cost_their_own) cost.message_setup.reset();
  scale(correction_constants, cost, pace);
  for (ProtocolCost& protocol : cost.protocols) {
    scale(protocol_constants, protocol, pace);
    scale(thread_block_constants, protocol, pace);
  }
  for (auto& kinds : cost.over) {
    for (auto& own : kinds) {
      if (own) scale(thread_block_constants, *own, pace);
    }
  }
  return cost;
}

}  // namespace collsim
