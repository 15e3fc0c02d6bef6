#include "models/calibration/time_scale.h"

#include "sim/cost/constants.h"

namespace collsim {

namespace {

template <typename Constants, typename Owner>
void scale(const Constants& constants, Owner& owner, double factor) {
  for (const auto& constant : constants) {
    if (!constant.scales_with_clock) continue;
    constant.in(owner) *= constant.quantity == Quantity::rate ? 1 / factor : factor;
  }
}

}  // namespace

Calibration with_time_scale(Calibration cost, double factor) {
  const bool sends_cost_their_own = cost.message_setup.has_value();
  scale(machine_constants, cost, factor);
  if (!sends_cost_their_own) cost.message_setup.reset();
  scale(correction_constants, cost, factor);
  if (cost.nvls.step) scale(nvls_constants, cost, factor);
  for (ProtocolConstants& protocol : cost.protocols) {
    scale(protocol_constants, protocol, factor);
    scale(thread_block_constants, protocol, factor);
  }
  for (auto& kinds : cost.over) {
    for (auto& own : kinds) {
      if (own) scale(thread_block_constants, *own, factor);
    }
  }
  return cost;
}

}  // namespace collsim
