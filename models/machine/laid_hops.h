#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/machine/link_state.h"
#include "models/machine/plan_wiring.h"
#include "models/machine/resource_table.h"
#include "sim/base/scramble.h"
#include "sim/execution/wiring.h"
#include "sim/nccl/nccl_algorithm.h"
#include "sim/routing/routing.h"
#include "sim/topologies/reduced_topology.h"

namespace collsim {

/// A call over a link that moves nothing takes longer than this, in seconds; no other one does.
inline constexpr double stands_still = 1e6;

/// Which hop of an algorithm.
struct HopKey {
  std::uint32_t channel = 0;
  Rank from = 0;
  Rank to = 0;
  bool operator==(const HopKey&) const = default;
};
struct HopHash {
  std::size_t operator()(const HopKey& hop) const {
    return scramble(scramble((std::uint64_t{hop.from} << 32U) + hop.to) + hop.channel);
  }
};

/// The links that hops of one algorithm take on the healthy machine.
using RouteCache = std::unordered_map<HopKey, std::vector<LinkId>, HopHash>;

/// What links are like at one instant, by ResourceId.
struct LinkConditions {
  std::vector<double> capacities;  ///< what each really carries, in bytes per second
  std::vector<double> delays;      ///< what each adds to a message, in seconds
  std::vector<bool> changed;       ///< whether a fault names it
};

/// Hops of one algorithm as wire() lays them, for a model that needs but some of a plan's. Each is
/// laid once, around links that are dead, and kept for questions that differ by other faults. Not
/// for several threads at once.
class LaidHops {
 public:
  using Id = std::uint32_t;

  /// A hop between two participants of a plan: ranks, or a switch that takes part.
  struct Hop {
    std::uint32_t channel = 0;
    Rank from = 0;
    Rank to = 0;
    /// Hops of one group are at the same time, on channels that have the same schedule.
    std::uint32_t group = 0;
    LinkKind kind = LinkKind::nvlink;  ///< of the slowest of its links
    double latency = 0;                ///< of all its links without faults, in seconds
  };

  /// Of `states` only the links count that are avoided. Refers to all but the rules and these, and
  /// to `cache`, which keeps the ways of hops where they do not depend on those before;
  /// null: nowhere.
  LaidHops(const Topology& topology, std::span<const DeviceId> gpus, const Calibration& cost,
           HopRules rules, const LinkStates& states, RouteCache* cache);
  ~LaidHops() = default;
  LaidHops(const LaidHops&) = delete;  // parts of it refer to others
  LaidHops& operator=(const LaidHops&) = delete;

  /// The hop between two ranks, the same one each time. Throws InputError where there is no way.
  Id lay(std::uint32_t channel, Rank from, Rank to, std::uint32_t group = 0);
  /// The hop to a switch that takes part, and then the one back. Sums go back on the way that
  /// copies come.
  Id lay_there_and_back(std::uint32_t channel, Rank rank, DeviceId site);

  std::size_t ranks() const { return gpus_.size(); }
  std::size_t size() const { return hops_.size(); }
  const Hop& hop(Id id) const { return hops_[id]; }
  std::span<const ResourceId> resources(Id id) const {
    return std::span(resources_).subspan(first_[id], first_[id + 1] - first_[id]);
  }
  /// The resources that a hop loads up to a proxy's buffer: all where there is no proxy.
  std::span<const ResourceId> to_proxy(Id id) const {
    return std::span(resources_).subspan(first_[id], network_[id] - first_[id]);
  }
  /// The resources that it loads from there on.
  std::span<const ResourceId> network(Id id) const {
    return std::span(resources_).subspan(network_[id], first_[id + 1] - network_[id]);
  }

  std::size_t resource_count() const { return wiring_.nominal.size(); }
  /// What the topology says of a resource, in bytes per second.
  double nominal(ResourceId resource) const { return wiring_.nominal[resource].value; }
  const ResourceOrigin& origin(ResourceId resource) const { return wiring_.origins[resource]; }

  /// What faults make of links: jitter counts as the half that a message is late on average, and a
  /// link that moves nothing moves next to nothing (stands_still).
  LinkConditions conditions(const LinkStates& states) const;
  /// Whether a fault has changed one of a hop's links.
  bool is_changed(Id id, const LinkConditions& now) const;
  double latency(Id id, const LinkConditions& now) const;
  /// The longest that a byte of every user takes on a link, by how many use each, in seconds.
  double busiest(const std::vector<double>& users, const LinkConditions& now) const;

 private:
  using Way = std::vector<LinkId>;

  Id add(const Hop& hop, const Way& way, bool has_proxy);
  Way healthy_way(std::uint32_t channel, Rank from, Rank to);
  Way around(Way way, std::uint32_t channel, Rank from, Rank to);

  const Topology& topology_;
  std::span<const DeviceId> gpus_;
  const Calibration& cost_;
  HopRules rules_;
  Router router_;
  Wiring wiring_;
  ResourceTable table_;
  RouteCache* cache_;
  std::vector<bool> dead_;                  // by link; empty: none is
  std::optional<ReducedTopology> reduced_;  // without dead links
  std::optional<Router> detours_;           // on it
  std::unordered_map<HopKey, Id, HopHash> ids_;
  std::vector<Hop> hops_;
  std::vector<std::size_t> first_{0};  // of a hop's resources
  std::vector<std::size_t> network_;   // of a hop's resources, those of the network
  std::vector<ResourceId> resources_;  // of all hops
};

}  // namespace collsim
