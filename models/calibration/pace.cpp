#include "models/calibration/pace.h"

#include <array>

namespace collsim {

namespace {

constexpr std::array times{
    &ProtocolCost::setup,          &ProtocolCost::setup_per_warp, &ProtocolCost::direct_setup,
    &ProtocolCost::slice,          &ProtocolCost::fence,          &ProtocolCost::copy_slice,
    &ProtocolCost::slice_per_warp, &ProtocolCost::half_block,     &ProtocolCost::fan,
    &ProtocolCost::cold_load,      &ProtocolCost::cold_receive,   &ProtocolCost::cold_fan,
};

template <typename Value>
void scale(PerTouch<Value>& values, double factor) {
  values = {factor * values.load, factor * values.receive, factor * values.store,
            factor * values.send, factor * values.fan,     factor * values.other};
}

void set_pace(ProtocolCost& cost, double pace) {
  for (const auto time : times) cost.*time = pace * (cost.*time);
  scale(cost.rate, 1 / pace);
  cost.fetch = (1 / pace) * cost.fetch;
  scale(cost.round, pace);
  scale(cost.work, pace);
  scale(cost.first, pace);
  if (cost.message_setup) cost.message_setup = pace * *cost.message_setup;
  for (std::size_t kind = 0; kind < link_kind_count; ++kind) {
    if (kind == static_cast<std::size_t>(LinkKind::network)) continue;
    cost.alpha[kind] = pace * cost.alpha[kind];
  }
}

}  // namespace

Calibration at_pace(Calibration cost, double pace) {
  for (ProtocolCost& protocol : cost.protocols) set_pace(protocol, pace);
  for (auto& kinds : cost.over) {
    for (auto& own : kinds) {
      if (own) set_pace(*own, pace);
    }
  }
  return cost;
}

}  // namespace collsim
