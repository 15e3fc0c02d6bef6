#include "models/calibration/pace.h"

#include "sim/cost/constants.h"

namespace collsim {

namespace {

template <typename Constants>
void scale(const Constants& constants, ProtocolCost& cost, double pace) {
  for (const ProtocolConstant& constant : constants) {
    if (!constant.scales_with_clock) continue;
    constant.in(cost) *= constant.quantity == Quantity::rate ? 1 / pace : pace;
  }
}

}  // namespace

Calibration at_pace(Calibration cost, double pace) {
  for (ProtocolCost& protocol : cost.protocols) {
    const bool sends_cost_their_own = protocol.message_setup.has_value();
    scale(protocol_constants, protocol, pace);
    scale(thread_block_constants, protocol, pace);
    if (!sends_cost_their_own) protocol.message_setup.reset();
  }
  for (auto& kinds : cost.over) {
    for (auto& own : kinds) {
      if (own) scale(thread_block_constants, *own, pace);
    }
  }
  return cost;
}

}  // namespace collsim
