#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "models/estimate/call_time.h"
#include "models/machine/laid_hops.h"
#include "sim/nccl/nccl_chunking.h"

namespace collsim {

/// The channels that a call uses: the first `count`, of which the last may carry less than the
/// others.
struct UsedChannels {
  std::uint32_t count = 0;
  double of_last = 1;  ///< what it carries, as a share of what the others do
  auto operator<=>(const UsedChannels&) const = default;
  double weight(std::uint32_t channel) const { return channel + 1 == count ? of_last : 1; }
};

/// The channels of a cut. The share of the last is rounded to quarters, so that there are few
/// different ones; among many channels it does not count.
UsedChannels used_channels(const NcclChunking& cut);

/// Whether hops are of one class, but for rounding.
bool alike(const HopClass& one, const HopClass& other);

/// What the hops of a call's channels are, and what they share with each other: found once on the
/// healthy machine. Refers to the hops.
class HopClasses {
 public:
  using Id = LaidHops::Id;

  /// Finds the classes of all hops that are laid of the channels. `schedules`: the plan's, by
  /// channel.
  HopClasses(const LaidHops& hops, const UsedChannels& channels,
             const std::vector<std::uint32_t>& schedules);

  /// The kinds of links that the hops use.
  const std::set<LinkKind>& kinds() const { return kinds_; }
  HopClass of(Id hop) const { return hops_of_[hop].healthy; }
  /// The class of a hop on a machine with faults.
  HopClass of(Id hop, const LinkConditions& now) const;

 private:
  /// The links of a hop on which each user has least: up to a proxy's buffer, and from there on.
  struct NarrowLinks {
    std::optional<ResourceId> to_proxy;
    std::optional<ResourceId> network;
  };
  struct SharedHop {
    HopClass healthy;
    NarrowLinks narrow;
    double together = 0;             ///< number of its users that send at the same time
    double together_in_network = 0;  ///< the same on the network
    std::uint32_t first = 0;         ///< of the hops at the same time, among all in that order
    std::uint32_t end = 0;
  };
  /// What the threads of proxies send and receive, by rank.
  struct Tasks {
    std::vector<double> sends;
    std::vector<double> receives;
  };

  Tasks count(const UsedChannels& channels);
  void order_by_time(const UsedChannels& channels, const std::vector<std::uint32_t>& schedules);
  void find(std::uint32_t first, std::uint32_t end, const LinkConditions& healthy,
            const Tasks& tasks);
  HopClass alone(Id hop, const Tasks& tasks) const;
  NarrowLinks narrow_links(Id hop, const LinkConditions& now) const;
  double together_on(ResourceId resource, Id hop) const;
  void set_shares(HopClass& hop_class, const SharedHop& hop, const LinkConditions& now) const;

  const LaidHops* hops_;
  std::set<LinkKind> kinds_;
  std::vector<double> users_;            // by ResourceId
  std::vector<SharedHop> hops_of_;       // by Id
  std::vector<Id> by_time_;              // those at the same time beside each other
  std::vector<std::uint32_t> together_;  // by ResourceId; 0 but while hops are looked at
};

/// The unlike shapes of the channels that carry as much as the others.
template <typename Shape, typename ShapeOf>
std::vector<Shape> unlike_shapes(const UsedChannels& channels, const ShapeOf& shape_of) {
  std::vector<Shape> shapes;
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) {
    if (channels.weight(channel) < 1) continue;  // done before the others
    Shape one = shape_of(channel);
    if (std::find(shapes.begin(), shapes.end(), one) == shapes.end()) {
      shapes.push_back(std::move(one));
    }
  }
  return shapes;
}

}  // namespace collsim
