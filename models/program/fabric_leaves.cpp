#include "models/program/fabric_leaves.h"

#include <map>
#include <set>

namespace collsim {

FabricLeaves::FabricLeaves(const Topology& topology) : leaf_of_node_(topology.node_count(), 0) {
  std::vector<std::set<DeviceId>> switches;  // of each leaf
  std::map<DeviceId, std::uint32_t> known;   // leaves by the first switch of a node
  std::vector<bool> cabled(topology.node_count(), false);
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); ++id) {
    const Link link = topology.link(id);
    const std::int32_t from = topology.node_of(link.from);
    if (from < 0 || topology.node_of(link.to) >= 0) continue;
    const auto node = static_cast<std::uint32_t>(from);
    if (!cabled[node]) {
      cabled[node] = true;
      const auto next = static_cast<std::uint32_t>(switches.size());
      leaf_of_node_[node] = known.try_emplace(link.to, next).first->second;
      if (known.size() > switches.size()) switches.emplace_back();
    }
    switches[leaf_of_node_[node]].insert(link.to);
  }
  if (switches.empty()) switches.emplace_back();
  nodes_.assign(switches.size(), 0);
  for (const std::uint32_t leaf : leaf_of_node_) ++nodes_[leaf];
  for (const std::set<DeviceId>& leaf : switches) {
    double rate = 0;
    for (const DeviceId each : leaf) {
      for (const LinkId id : topology.fabric_links_from(each)) {
        const Link link = topology.link(id);
        if (topology.node_of(link.to) < 0 && !leaf.contains(link.to)) rate += link.bandwidth.value;
      }
    }
    uplinks_.push_back(rate);
  }
}

}  // namespace collsim
