#include "sim/cost/calibration.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/constants.h"

namespace collsim {

BytesPerSecond ProxyConstants::rate_of(double bytes) const {
  if (helpers == 0) return rate;
  // NCCL src/transport/net_socket.cc: no piece is smaller.
  constexpr double smallest_piece = 64 << 10;
  const auto most = static_cast<double>(streams);
  const double pieces = std::clamp(std::ceil(bytes / smallest_piece), 1.0, most);
  return std::min(pieces * rate, std::min(pieces, static_cast<double>(helpers)) * copy);
}

BytesPerSecond ProtocolConstants::rate_of(const MemoryOps& operations) const {
  const double per_byte = (operations.load + operations.receive) / read.value +
                          (operations.store + operations.send) / write.value;
  return per_byte > 0 ? BytesPerSecond{1 / per_byte} : unlimited;
}

Seconds ProtocolConstants::work_of(const MemoryOps& operations, bool several_peers) const {
  if (rounds_wait()) return operations.send * work;
  return operations.total() * work + (several_peers ? corrections.multi_peer : Seconds{});
}

Seconds ProtocolConstants::first_load(const MemoryOps& operations, Seconds ready) const {
  return std::max(operations.load * first - ready, Seconds{});
}

Seconds ProtocolConstants::rounds(const MemoryOps& operations, const FlagRounds& of,
                                  bool several_peers) const {
  const std::int64_t number = (of.bytes + of.max - 1) / of.max;
  const double full = of.warps * static_cast<double>(of.bytes) / static_cast<double>(of.max);
  return static_cast<double>(number) * wait_of(operations) +
         full * work_of(operations, several_peers);
}

double ProtocolConstants::contended_share(double demand, double steps) const {
  const double balance = std::min(demand, 1 / demand);
  const double lost = corrections.link_contention / std::sqrt(1 + steps);
  const double sharpness = std::log(2) / -std::log1p(-lost);
  const double filled = std::pow(balance, sharpness);
  return filled > 0 ? std::exp(-std::log1p(filled) / sharpness) : 1;
}

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
