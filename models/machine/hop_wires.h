#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/machine/plan_wiring.h"
#include "models/machine/resource_table.h"
#include "sim/execution/wiring.h"
#include "sim/topologies/routing.h"

namespace collsim {

/// Lays single hops onto a machine, as wire() lays all of a plan: for models that know a plan's
/// hops by class and need but some of them. Refers to all it is made of but the rules.
class HopWires {
 public:
  HopWires(const Topology& topology, std::span<const DeviceId> gpus, const Calibration& cost,
           HopRules rules);

  /// The wire of a hop between two ranks. Throws InputError where there is no way.
  Wire lay(std::uint32_t channel, Rank from, Rank to);
  /// The same between two devices, one of which is a switch that takes part: sums go back on the
  /// way that copies come.
  Wire lay_from_switch(std::uint32_t channel, DeviceId site, Rank to);
  Wire lay_to_switch(std::uint32_t channel, Rank from, DeviceId site);

  /// What a resource really carries.
  BytesPerSecond capacity(ResourceId resource) const;
  const Burst* burst(ResourceId resource) const;
  const ResourceOrigin& origin(ResourceId resource) const { return wiring_.origins[resource]; }
  std::size_t resources() const { return wiring_.nominal.size(); }

 private:
  Wire laid(std::span<const LinkId> way, bool has_proxy);

  const Topology& topology_;
  std::span<const DeviceId> gpus_;
  const Calibration& cost_;
  HopRules rules_;
  Router router_;
  Wiring wiring_;
  ResourceTable table_;
};

}  // namespace collsim
