#include "sim/cost/calibration.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/constants.h"

namespace collsim {

BytesPerSecond ProtocolCost::rate_of(const Touches& touches, const Cold& cold) const {
  const double per_byte = touches.load * (1 / rate.load.value + cold.own / fetch.value) +
                          touches.receive * (1 / rate.receive.value + cold.received / fetch.value) +
                          touches.store / rate.store.value + touches.send / rate.send.value +
                          touches.fan / rate.fan.value + touches.other / rate.other.value;
  return per_byte > 0 ? BytesPerSecond{1 / per_byte} : unlimited;
}

namespace {

Seconds sum(const Touches& touches, const PerTouch<Seconds>& each) {
  return touches.load * each.load + touches.receive * each.receive + touches.store * each.store +
         touches.send * each.send + touches.fan * each.fan + touches.other * each.other;
}

}  // namespace

Seconds ProtocolCost::fetch_of(const Touches& touches, const Cold& cold) const {
  return cold.own * touches.load * cold_load +
         cold.received * touches.receive *
             (cold_receive + (touches.fan > 0 ? cold_fan : Seconds{}));
}

Seconds ProtocolCost::wait_of(const Touches& touches, const Cold& cold) const {
  return rounds_wait() ? sum(touches, round) + fetch_of(touches, cold) : Seconds{};
}

Seconds ProtocolCost::work_of(const Touches& touches, const Cold& cold) const {
  return rounds_wait() ? sum(touches, work) : sum(touches, work) + fetch_of(touches, cold);
}

Seconds ProtocolCost::first_load(const Touches& touches, Seconds ready) const {
  return std::max(touches.load * first.load - ready, Seconds{});
}

Seconds ProtocolCost::first_rest(const Touches& touches) const {
  return sum(touches, first) - touches.load * first.load;
}

Seconds ProtocolCost::rounds(const Touches& touches, const Rounds& of, const Cold& cold) const {
  if (of.bytes == 0) return {};
  const std::int64_t number = (of.bytes + of.most - 1) / of.most;
  const double full = of.warps / static_cast<double>(of.most);  // of all warps, per byte
  Seconds time = static_cast<double>(number) * wait_of(touches, cold) +
                 full * static_cast<double>(of.bytes) * work_of(touches, cold);
  if (of.end_slice) {
    const double last = static_cast<double>(of.bytes - (number - 1) * of.most);
    time += (last_store - 1) * touches.store * (round.store + full * last * work.store);
  }
  return time;
}

double ProtocolCost::crowded_share(double demand, double steps, double of_link) const {
  const double balance = std::min(demand / of_link, of_link / demand);
  const double lost = crowding / std::sqrt(1 + steps);
  const double sharpness = std::log(2) / -std::log1p(-lost);
  const double crowd = std::pow(balance, sharpness);
  const double share = crowd > 0 ? std::exp(-std::log1p(crowd) / sharpness) : 1;
  return share * std::clamp(of_link / demand, of_link, 1.0);
}

Seconds Calibration::startup(Protocol protocol, Collective collective, std::uint32_t channels,
                             std::uint32_t warps) const {
  const ProtocolCost& cost = of(protocol);
  const Seconds direct = uses_direct_primitives(collective) ? cost.direct_setup : Seconds{};
  const double doublings = std::log2(std::max(channels, 1U));
  return launch + doublings * launch_per_doubling + cost.setup + warps * cost.setup_per_warp +
         direct;
}

Calibration Calibration::of_messages() const {
  const auto replace = [](ProtocolCost& cost) {
    cost.setup = cost.message_setup.value_or(cost.setup);
    cost.setup_per_warp = {};
    cost.direct_setup = {};
  };
  Calibration cost = *this;
  for (ProtocolCost& protocol : cost.protocols) replace(protocol);
  for (auto& kinds : cost.over) {
    for (auto& own : kinds) {
      if (own) replace(*own);
    }
  }
  return cost;
}

Calibration Calibration::of_graph() const {
  Calibration cost = *this;
  cost.launch = graph_launch.value_or(launch);
  cost.issue = {};
  cost.issue_per_operation = {};
  return cost;
}

ProtocolCost Calibration::fastest(Protocol protocol) const {
  ProtocolCost fastest = of(protocol);
  for (auto own : over[static_cast<std::size_t>(protocol)]) {
    if (!own) continue;
    for (const ProtocolConstant& constant : thread_block_constants) {
      double& best = constant.in(fastest);
      const double value = constant.in(*own);
      const bool more_is_faster = constant.more_is_faster || constant.quantity == Quantity::rate;
      best = more_is_faster ? std::max(best, value) : std::min(best, value);
    }
  }
  return fastest;
}

}  // namespace collsim
