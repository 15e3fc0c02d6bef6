#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/topologies/topology.h"

namespace collsim {

/// Finds the devices at which switch agents sit. `gpus[r]` is the device of rank r; it and the
/// topology must outlive the object.
///
/// - An nvswitch sits in the node of its ranks; where a node has several, channels take turns.
/// - A network's agent sits where the ways of its ranks meet: at the switch with the least distance
///   to the farthest of them (the root of SHARP's aggregation tree); of equal ones agents take
///   turns.
class SwitchPlacement {
 public:
  SwitchPlacement(const Topology& topology, std::span<const DeviceId> gpus);

  /// The switch of each agent. Throws InputError where no switch of that kind has Device::reduces.
  std::vector<DeviceId> of(const Plan& plan, std::uint32_t channel);

 private:
  using Members = std::set<DeviceId>;

  std::vector<Members> members_of_agents(const Schedule& schedule) const;
  DeviceId nvswitch_near(DeviceId gpu, std::uint32_t turn) const;
  DeviceId middle_of(const Members& members, std::uint32_t turn);
  std::vector<DeviceId> find_middles(const Members& members) const;

  const Topology& topology_;
  std::span<const DeviceId> gpus_;
  std::map<std::int32_t, std::vector<DeviceId>> nvswitches_;  // by node; that add up
  std::vector<DeviceId> network_switches_;                    // that add up
  std::map<Members, std::vector<DeviceId>> middles_;          // as asked for
};

}  // namespace collsim
