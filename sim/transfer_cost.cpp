#include "sim/transfer_cost.h"

#include <algorithm>

namespace collsim {

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "Simple";
  }
  return "";
}

double bytes_per_byte(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll:
      return 2;
    case Protocol::ll128:
      return 128.0 / 120;
    case Protocol::simple:
      return 1;
  }
  return 1;
}

TransferCost TransferCost::of_messages() const {
  const auto replace = [](ProtocolCost& cost) {
    cost.setup = cost.message_setup.value_or(cost.setup);
    cost.channel = cost.messages;
  };
  TransferCost cost = *this;
  for (ProtocolCost& protocol : cost.protocols) replace(protocol);
  for (auto& kinds : cost.over) {
    for (auto& own : kinds) {
      if (own) replace(*own);
    }
  }
  return cost;
}

ProtocolCost TransferCost::fastest(Protocol protocol) const {
  ProtocolCost least = of(protocol);
  for (const auto& own : over[static_cast<std::size_t>(protocol)]) {
    if (!own) continue;
    least.slice = std::min(least.slice, own->slice);
    least.slice_per_warp = std::min(least.slice_per_warp, own->slice_per_warp);
    least.fan = std::min(least.fan, own->fan);
    least.channel = std::max(least.channel, own->channel);
    least.messages = std::max(least.messages, own->messages);
    least.reduce = std::max(least.reduce, own->reduce);
    least.copy = std::max(least.copy, own->copy);
    least.store = std::max(least.store, own->store);
    least.reduce_round = std::min(least.reduce_round, own->reduce_round);
    least.copy_round = std::min(least.copy_round, own->copy_round);
    least.store_round = std::min(least.store_round, own->store_round);
  }
  return least;
}

}  // namespace collsim
