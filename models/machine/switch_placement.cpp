#include "models/machine/switch_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sim/base/input_error.h"

namespace collsim {

namespace {

/// Links from a device to every other, on ways that pass through no other GPU.
std::vector<std::uint32_t> distances_from(const Topology& topology, DeviceId start) {
  constexpr auto unreached = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> distance(topology.devices().size(), unreached);
  distance[start] = 0;
  std::vector<DeviceId> queue{start};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (i > 0 && topology.device(queue[i]).kind == DeviceKind::gpu) continue;
    for (const LinkId id : topology.links_from(queue[i])) {
      const DeviceId next = topology.link(id).to;
      if (distance[next] != unreached) continue;
      distance[next] = distance[queue[i]] + 1;
      queue.push_back(next);
    }
  }
  return distance;
}

}  // namespace

SwitchPlacement::SwitchPlacement(const Topology& topology, std::span<const DeviceId> gpus)
    : topology_(topology), gpus_(gpus) {
  for (DeviceId id = 0; id < topology.devices().size(); ++id) {
    const Device device = topology.device(id);
    if (!device.reduces) continue;
    if (device.kind == DeviceKind::nvswitch) nvswitches_[device.node].push_back(id);
    if (device.kind == DeviceKind::network_switch) network_switches_.push_back(id);
  }
}

std::vector<DeviceId> SwitchPlacement::of(const Plan& plan, std::uint32_t channel) {
  const Schedule& schedule = plan.schedule(channel);
  const std::vector<Members> members = members_of_agents(schedule);
  std::vector<DeviceId> sites;
  for (std::uint32_t agent = 0; agent < members.size(); ++agent) {
    if (members[agent].empty()) {
      sites.push_back(gpus_.front());  // takes no part
    } else if (schedule.agents()[agent] == SwitchReducer::nvswitch) {
      sites.push_back(nvswitch_near(*members[agent].begin(), channel));
    } else {
      sites.push_back(middle_of(members[agent], agent));
    }
  }
  return sites;
}

/// The GPUs that every agent talks to.
std::vector<SwitchPlacement::Members> SwitchPlacement::members_of_agents(
    const Schedule& schedule) const {
  std::vector<Members> members(schedule.agents().size());
  if (members.empty()) return members;
  for (const Connection& connection : schedule.connections()) {
    if (schedule.is_agent(connection.src)) {
      members[connection.src - schedule.ranks()].insert(gpus_[connection.dst]);
    } else if (schedule.is_agent(connection.dst)) {
      members[connection.dst - schedule.ranks()].insert(gpus_[connection.src]);
    }
  }
  return members;
}

DeviceId SwitchPlacement::nvswitch_near(DeviceId gpu, std::uint32_t turn) const {
  const auto found = nvswitches_.find(topology_.node_of(gpu));
  if (found == nvswitches_.end()) {
    throw InputError(fmt::format("{} has no NVSwitch that adds up", topology_.device_name(gpu)),
                     "a node with an nvswitch of 'multicast: true'");
  }
  return found->second[turn % found->second.size()];
}

DeviceId SwitchPlacement::middle_of(const Members& members, std::uint32_t turn) {
  if (network_switches_.empty()) {
    throw InputError(fmt::format("no switch between the nodes of '{}' adds up", topology_.name()),
                     "a fabric with 'sharp: true'");
  }
  const auto [middle, added] = middles_.try_emplace(members);
  if (added) middle->second = find_middles(members);
  return middle->second[turn % middle->second.size()];
}

std::vector<DeviceId> SwitchPlacement::find_middles(const Members& members) const {
  std::vector<std::uint32_t> farthest(topology_.devices().size());
  for (const DeviceId member : members) {
    const auto distance = distances_from(topology_, member);
    for (const DeviceId each : network_switches_) {
      farthest[each] = std::max(farthest[each], distance[each]);
    }
  }
  std::vector<DeviceId> nearest;
  for (const DeviceId each : network_switches_) {
    if (!nearest.empty() && farthest[each] > farthest[nearest.front()]) continue;
    if (!nearest.empty() && farthest[each] < farthest[nearest.front()]) nearest.clear();
    nearest.push_back(each);
  }
  return nearest;
}

}  // namespace collsim
