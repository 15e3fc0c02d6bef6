#include "sim/cost/calibration.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/constants.h"

namespace collsim {

namespace {

Corrections corrections_of(const Corrections& all, Protocol protocol) {
  Corrections own = all;
  if (protocol == Protocol::simple) {
    own.multi_peer = {};
    return own;
  }
  own.copy_step = {};
  own.overlap = 0;
  if (protocol == Protocol::ll) {
    own.half_block = {};
    own.link_contention = 0;
  }
  return own;
}

}  // namespace

ProtocolConstants Calibration::of(Protocol protocol, LinkKind slowest) const {
  const auto index = static_cast<std::size_t>(protocol);
  const auto& kinds = over[index];
  const auto& own = kinds[static_cast<std::size_t>(slowest)];
  const auto& pcie = kinds[static_cast<std::size_t>(LinkKind::pcie)];
  ProtocolConstants cost = protocols[index];
  if (own) {
    cost = *own;
  } else if (slowest == LinkKind::cpu && pcie) {
    cost = *pcie;
  }
  if (slowest == LinkKind::nvlink) cost.corrections = corrections_of(corrections, protocol);
  return cost;
}

Seconds Calibration::startup(Protocol protocol, Collective collective, std::uint32_t channels,
                             std::uint32_t warps) const {
  const ProtocolConstants& cost = protocols[static_cast<std::size_t>(protocol)];
  const bool direct = protocol == Protocol::simple && uses_direct_primitives(collective);
  const double doublings = std::log2(std::max(channels, 1U));
  return launch + doublings * launch_per_doubling + cost.setup + warps * cost.setup_per_warp +
         (direct ? corrections.direct_setup : Seconds{});
}

Seconds Calibration::issue_of(Collective collective, Rank ranks, std::uint32_t channels) const {
  const std::uint32_t messages = operations(collective, ranks);
  if (messages > 1) return issue + (messages - 1) * issue_per_operation;
  return issue + (std::max(channels, 1U) - 1) * issue_per_channel;
}

Seconds Calibration::notice_of_room(Seconds latency) const {
  if (proxy.socket.count > 0 || proxy.copy < unlimited) return {};
  return latency + of(Protocol::ll).alpha[static_cast<std::size_t>(LinkKind::network)];
}

Calibration Calibration::of_messages() const {
  Calibration cost = *this;
  for (ProtocolConstants& protocol : cost.protocols) {
    protocol.setup = message_setup.value_or(protocol.setup);
    protocol.setup_per_warp = {};
  }
  cost.corrections.direct_setup = {};
  return cost;
}

Calibration Calibration::of_mixed_messages() const {
  Calibration cost = of_messages();
  cost.efficiency[static_cast<std::size_t>(LinkKind::nvlink)] *= 1 - corrections.hol_blocking;
  return cost;
}

Calibration Calibration::of_graph() const {
  Calibration cost = *this;
  cost.launch = graph_launch.value_or(launch);
  cost.issue = {};
  cost.issue_per_channel = {};
  cost.issue_per_operation = {};
  return cost;
}

Calibration Calibration::of_nvls() const {
  Calibration cost = *this;
  double& efficiency_of_ports = cost.efficiency[static_cast<std::size_t>(LinkKind::nvlink)];
  efficiency_of_ports = nvls.efficiency.value_or(efficiency_of_ports);
  if (!nvls.step) return cost;
  constexpr auto simple = static_cast<std::size_t>(Protocol::simple);
  cost.protocols[simple].step = *nvls.step;
  for (auto& own : cost.over[simple]) {
    if (own) own->step = std::max(own->step, *nvls.step);
  }
  return cost;
}

ProtocolConstants Calibration::fastest(Protocol protocol) const {
  const auto index = static_cast<std::size_t>(protocol);
  ProtocolConstants fastest = protocols[index];
  for (auto own : over[index]) {
    if (!own) continue;
    for (const ProtocolConstant& constant : thread_block_constants) {
      double& best = constant.in(fastest);
      const double value = constant.in(*own);
      best = constant.quantity == Quantity::rate ? std::max(best, value) : std::min(best, value);
    }
  }
  return fastest;
}

}  // namespace collsim
