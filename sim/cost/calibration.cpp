#include "sim/cost/calibration.h"

#include <algorithm>
#include <cmath>

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

namespace {

PerTouch<BytesPerSecond> faster(const PerTouch<BytesPerSecond>& a,
                                const PerTouch<BytesPerSecond>& b) {
  return {std::max(a.load, b.load), std::max(a.receive, b.receive), std::max(a.store, b.store),
          std::max(a.send, b.send), std::max(a.fan, b.fan),         std::max(a.other, b.other)};
}

PerTouch<Seconds> shorter(const PerTouch<Seconds>& a, const PerTouch<Seconds>& b) {
  return {std::min(a.load, b.load), std::min(a.receive, b.receive), std::min(a.store, b.store),
          std::min(a.send, b.send), std::min(a.fan, b.fan),         std::min(a.other, b.other)};
}

}  // namespace

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
  ProtocolCost least = of(protocol);
  for (const auto& own : over[static_cast<std::size_t>(protocol)]) {
    if (!own) continue;
    least.slice = std::min(least.slice, own->slice);
    least.fence = std::min(least.fence, own->fence);
    least.copy_slice = std::min(least.copy_slice, own->copy_slice);
    least.slice_per_warp = std::min(least.slice_per_warp, own->slice_per_warp);
    least.half_block = std::min(least.half_block, own->half_block);
    least.fan = std::min(least.fan, own->fan);
    least.overlap = std::max(least.overlap, own->overlap);
    least.crowding = std::min(least.crowding, own->crowding);
    least.mixing = std::min(least.mixing, own->mixing);
    least.rate = faster(least.rate, own->rate);
    least.fetch = std::max(least.fetch, own->fetch);
    least.round = shorter(least.round, own->round);
    least.work = shorter(least.work, own->work);
    least.first = shorter(least.first, own->first);
    least.last_store = std::min(least.last_store, own->last_store);
    least.misaligned = std::min(least.misaligned, own->misaligned);
    least.cold_load = std::min(least.cold_load, own->cold_load);
    least.cold_receive = std::min(least.cold_receive, own->cold_receive);
    least.cold_fan = std::min(least.cold_fan, own->cold_fan);
  }
  return least;
}

}  // namespace collsim
