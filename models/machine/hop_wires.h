#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/machine/known_ways.h"
#include "models/machine/link_state.h"
#include "models/machine/plan_wiring.h"
#include "models/machine/resource_table.h"
#include "sim/execution/wiring.h"
#include "sim/routing/routing.h"
#include "sim/topologies/reduced_topology.h"

namespace collsim {

/// A call over a link that moves nothing takes longer than this, in seconds; no other one does.
inline constexpr double stands_still = 1e6;

/// Lays single hops onto a machine, as wire() lays all of a plan: for models that know a plan's
/// hops by class and need but some of them. Links are as `states` says: a hop around a dead one
/// takes what is left, jitter counts as the half that a message is late on average, and a link that
/// moves nothing moves next to nothing (stands_still). Refers to all it is made of but the rules
/// and the states. What `known` holds of the hops' ways is not searched again; null: nothing. Where
/// ways depend on those before (Topology::takes_detours()), it is not used.
class HopWires {
 public:
  HopWires(const Topology& topology, std::span<const DeviceId> gpus, const Calibration& cost,
           HopRules rules, LinkStates states = {}, KnownWays::OfAlgorithm* known = nullptr);
  ~HopWires() = default;
  HopWires(const HopWires&) = delete;  // parts of it refer to others
  HopWires& operator=(const HopWires&) = delete;

  /// The wire of a hop between two ranks. Throws InputError where there is no way.
  Wire lay(std::uint32_t channel, Rank from, Rank to);
  /// The same between two devices, one of which is a switch that takes part: sums go back on the
  /// way that copies come.
  Wire lay_from_switch(std::uint32_t channel, DeviceId site, Rank to);
  Wire lay_to_switch(std::uint32_t channel, Rank from, DeviceId site);

  /// From now on links are as these say. What was laid keeps its way.
  void set_states(LinkStates states);

  /// Whether a fault has changed it, or its way.
  bool is_changed(const Wire& wire) const;

  /// What a resource really carries.
  BytesPerSecond capacity(ResourceId resource) const;
  /// Of a link that some hop uses; else nothing.
  std::optional<ResourceId> resource_of(LinkId link) const { return table_.resource_of(link); }
  /// What the topology says of it.
  BytesPerSecond nominal(ResourceId resource) const { return wiring_.nominal[resource]; }
  const ResourceOrigin& origin(ResourceId resource) const { return wiring_.origins[resource]; }
  std::size_t resources() const { return wiring_.nominal.size(); }

 private:
  using Way = std::vector<LinkId>;

  Way healthy_way(std::uint32_t channel, Rank from, Rank to);
  Wire laid(std::span<const LinkId> way, bool has_proxy);
  const LinkState* state_of(ResourceId resource) const;
  bool is_cut(const Way& way) const;
  Way around(Way way, std::uint32_t channel, Rank from, Rank to);

  const Topology& topology_;
  std::span<const DeviceId> gpus_;
  const Calibration& cost_;
  HopRules rules_;
  Router router_;
  Wiring wiring_;
  ResourceTable table_;
  LinkStates states_;
  KnownWays::OfAlgorithm* known_;
  std::optional<ReducedTopology> reduced_;  // without dead links
  std::optional<Router> detours_;           // on it
};

}  // namespace collsim
