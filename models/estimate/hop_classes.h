#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/estimate/call_time.h"
#include "models/machine/hop_wires.h"
#include "sim/execution/wiring.h"
#include "sim/nccl/nccl_chunking.h"

namespace collsim {

/// A hop on the machine.
struct LaidHop {
  Rank from = 0;
  Rank to = 0;
  Wire wire;
};

/// The channels that a call uses: the first so many, of which the last may carry less than the
/// others.
struct UsedChannels {
  std::uint32_t count = 0;
  double of_last = 1;  ///< what it carries, as a share of what the others do
  auto operator<=>(const UsedChannels&) const = default;
  double weight(std::uint32_t channel) const { return channel + 1 == count ? of_last : 1; }
};

/// Those of a cut. The share of the last is rounded to quarters, so that there are few different
/// ones; among many channels it does not count.
UsedChannels used_channels(const NcclChunking& cut);

/// Counts who uses the links of wires, by ResourceId.
class LinkUsers {
 public:
  explicit LinkUsers(const HopWires& wires) : wires_(wires) {}

  void add(const Wire& wire, double weight = 1);
  double of(ResourceId resource) const { return users_[resource]; }
  void set(ResourceId resource, double users) { users_[resource] = users; }
  /// The longest that a byte of every user takes on one of them, in seconds.
  double busiest() const;
  const HopWires& wires() const { return wires_; }

 private:
  const HopWires& wires_;
  std::vector<double> users_;
};

/// The resource on which each user has least, if there is one: `rate_of(resource)` is what each
/// has.
template <typename RateOf>
std::optional<ResourceId> narrowest_of(std::span<const ResourceId> resources,
                                       const RateOf& rate_of) {
  std::optional<ResourceId> narrowest;
  double least = std::numeric_limits<double>::infinity();
  for (const ResourceId resource : resources) {
    const double each = rate_of(resource);
    if (each >= least) continue;
    least = each;
    narrowest = resource;
  }
  return narrowest;
}

/// The class of a wire: what of it is shared most. `together_on` says of that resource how many of
/// its users are as far as the wire's own. Of a proxy's thread it knows nothing yet.
HopClass hop_class(const Wire& wire, const LinkUsers& users,
                   const std::function<double(ResourceId narrowest)>& together_on);

/// Whether hops are of one class, but for rounding.
bool alike(const HopClass& one, const HopClass& other);

/// The channels that have the same key, by rising key: those are in step.
template <typename KeyOf>
std::vector<std::vector<std::uint32_t>> channels_in_step(std::uint32_t channels,
                                                         const KeyOf& key_of) {
  std::map<std::decay_t<decltype(key_of(0U))>, std::vector<std::uint32_t>> by_key;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    by_key[key_of(channel)].push_back(channel);
  }
  std::vector<std::vector<std::uint32_t>> in_step;
  in_step.reserve(by_key.size());
  for (auto& [key, alike_channels] : by_key) in_step.push_back(std::move(alike_channels));
  return in_step;
}

/// The unlike shapes of the channels that carry as much as the others. `shape_of(channel, in_step)`
/// looks at one of those that are in step.
template <typename Shape, typename ShapeOf>
std::vector<Shape> unlike_shapes(const UsedChannels& channels,
                                 const std::vector<std::vector<std::uint32_t>>& in_step,
                                 const ShapeOf& shape_of) {
  std::vector<Shape> shapes;
  for (const std::vector<std::uint32_t>& alike_channels : in_step) {
    for (const std::uint32_t channel : alike_channels) {
      if (channels.weight(channel) < 1) continue;  // done before the others
      Shape one = shape_of(channel, alike_channels);
      if (std::find(shapes.begin(), shapes.end(), one) == shapes.end()) {
        shapes.push_back(std::move(one));
      }
    }
  }
  return shapes;
}

}  // namespace collsim
