#include "models/estimate/hop_classes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace collsim {

namespace {

bool near(double one, double other) {
  constexpr double rounding = 1e-6;
  return one == other || std::abs(one - other) <= rounding * std::abs(one);
}

}  // namespace

UsedChannels used_channels(const NcclChunking& cut) {
  constexpr std::size_t many = 8;
  constexpr double steps = 4;
  UsedChannels used{static_cast<std::uint32_t>(cut.shares.size()), 1};
  if (cut.shares.size() < 2 || cut.shares.size() > many) return used;
  const auto bytes = [](const NcclShare& share) {
    return static_cast<double>((std::int64_t{share.loops} - 1) * share.full.count) +
           static_cast<double>(std::min(share.last, share.last_total).count);
  };
  const double share = bytes(cut.shares.back()) / bytes(cut.shares.front());
  used.of_last = std::clamp(std::round(share * steps) / steps, 1 / steps, 1.0);
  return used;
}

void LinkUsers::add(const Wire& wire, double weight) {
  users_.resize(wires_.resources());
  for (const ResourceId resource : wire.resources) users_[resource] += weight;
  for (const ResourceId resource : wire.network) users_[resource] += weight;
}

double LinkUsers::busiest() const {
  double most = 0;
  for (ResourceId resource = 0; resource < users_.size(); ++resource) {
    most = std::max(most, users_[resource] / wires_.capacity(resource).value);
  }
  return most;
}

HopClass hop_class(const Wire& wire, const LinkUsers& users,
                   const std::function<double(ResourceId narrowest)>& together_on) {
  const auto rate_of = [&](ResourceId resource) {
    return users.wires().capacity(resource).value / users.of(resource);
  };
  HopClass hop;
  hop.kind = wire.kind;
  hop.latency = wire.latency.value;
  hop.capacity = std::numeric_limits<double>::infinity();
  if (!wire.network.empty()) {
    hop.network_capacity = std::numeric_limits<double>::infinity();
    hop.network_users = 1;
    if (const auto narrowest = narrowest_of(wire.network, rate_of)) {
      hop.network_capacity = users.wires().capacity(*narrowest).value;
      hop.network_users = users.of(*narrowest);
      hop.network_others = std::max(0.0, hop.network_users - together_on(*narrowest));
    }
  }
  if (const auto narrowest = narrowest_of(wire.resources, rate_of)) {
    hop.capacity = users.wires().capacity(*narrowest).value;
    hop.synchronous_users = together_on(*narrowest);
    hop.other_users = users.of(*narrowest) - hop.synchronous_users;
  }
  return hop;
}

bool alike(const HopClass& one, const HopClass& other) {
  return one.kind == other.kind && near(one.latency, other.latency) &&
         near(one.capacity, other.capacity) &&
         near(one.synchronous_users, other.synchronous_users) &&
         near(one.other_users, other.other_users) && near(one.network_users, other.network_users) &&
         near(one.network_others, other.network_others) &&
         near(one.network_capacity, other.network_capacity) && near(one.sends, other.sends) &&
         near(one.receives, other.receives) && near(one.before, other.before);
}

}  // namespace collsim
