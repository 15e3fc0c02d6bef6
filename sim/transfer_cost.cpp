#include "sim/transfer_cost.h"

#include <algorithm>
#include <cmath>

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

BytesPerSecond ProtocolCost::rate(Work work) const {
  return work == Work::reduce ? reduce : work == Work::copy ? copy : store;
}

Seconds ProtocolCost::rounds(Work work, std::int64_t bytes, std::int64_t round) const {
  const Seconds full = work == Work::reduce ? reduce_round
                       : work == Work::copy ? copy_round
                                            : store_round;
  const auto rest = static_cast<double>(bytes % round) / static_cast<double>(round);
  const double last = rest > 0 ? share_of_round(rest) : 0;
  const std::int64_t full_rounds = bytes / round;
  return (static_cast<double>(full_rounds) + last) * full;
}

Seconds ProtocolCost::cold_rounds(Work work, std::int64_t bytes, std::int64_t round,
                                  double cold) const {
  const Seconds longer = work == Work::reduce ? cold_reduce : cold_copy;
  return cold * static_cast<double>(bytes) / static_cast<double>(round) * longer;
}

double ProtocolCost::crowded_share(double thread_blocks, BytesPerSecond link) const {
  if (crowding == 0 || !(channel < unlimited)) return 1;
  constexpr double sharpness = 2.5;
  const double load = crowding * thread_blocks * channel.value / link.value;
  return std::pow(1 + std::pow(load, sharpness), -1 / sharpness);
}

Seconds TransferCost::startup(Protocol protocol, Collective collective, std::uint32_t warps) const {
  const ProtocolCost& cost = of(protocol);
  const Seconds direct = uses_direct_primitives(collective) ? cost.direct_setup : Seconds{};
  return launch + cost.setup + warps * cost.setup_per_warp + direct;
}

TransferCost TransferCost::of_messages() const {
  const auto replace = [](ProtocolCost& cost) {
    cost.setup = cost.message_setup.value_or(cost.setup);
    cost.setup_per_warp = {};
    cost.direct_setup = {};
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
    least.copy_slice = std::min(least.copy_slice, own->copy_slice);
    least.slice_per_warp = std::min(least.slice_per_warp, own->slice_per_warp);
    least.fan = std::min(least.fan, own->fan);
    least.crowding = std::min(least.crowding, own->crowding);
    least.channel = std::max(least.channel, own->channel);
    least.messages = std::max(least.messages, own->messages);
    least.reduce = std::max(least.reduce, own->reduce);
    least.copy = std::max(least.copy, own->copy);
    least.store = std::max(least.store, own->store);
    least.least_round = std::min(least.least_round, own->least_round);
    least.cold_reduce = std::min(least.cold_reduce, own->cold_reduce);
    least.cold_copy = std::min(least.cold_copy, own->cold_copy);
    least.reduce_round = std::min(least.reduce_round, own->reduce_round);
    least.copy_round = std::min(least.copy_round, own->copy_round);
    least.store_round = std::min(least.store_round, own->store_round);
  }
  return least;
}

}  // namespace collsim
