#include "models/program/shared_network.h"

#include <algorithm>
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

namespace {

/// What all NICs of a node send at most; 0 without any.
double rate_of_nics(const Topology& topology, std::uint32_t node) {
  const NodePart part = topology.node(node);
  const auto& devices = part.graph->graph().devices;
  double rate = 0;
  for (std::uint32_t i = 0; i < devices.size(); ++i) {
    if (devices[i].kind != DeviceKind::nic) continue;
    double of_nic = devices[i].port_rate.value;
    if (of_nic <= 0) {
      for (const LinkId id : topology.links_from(part.first_device + i)) {
        const Link link = topology.link(id);
        if (link.kind == LinkKind::network) of_nic += link.bandwidth.value;
      }
    }
    rate += of_nic;
  }
  return rate;
}

DeviceId first_gpu(const Topology& topology, std::uint32_t node) {
  const NodePart part = topology.node(node);
  const auto& devices = part.graph->graph().devices;
  const auto gpu = std::find_if(devices.begin(), devices.end(),
                                [](const auto& each) { return each.kind == DeviceKind::gpu; });
  return part.first_device + static_cast<DeviceId>(gpu - devices.begin());
}

}  // namespace

SharedNetwork::SharedNetwork(const Topology& topology, const FabricLeaves& leaves, double reached)
    : topology_(topology), leaves_(leaves), router_(topology), reached_(reached) {
  nics_.reserve(topology.node_count());
  for (std::uint32_t node = 0; node < topology.node_count(); ++node) {
    nics_.push_back(rate_of_nics(topology, node));
  }
  const DeviceId first = topology.first_fabric_device();
  on_leaf_.resize(topology.fabric_devices().size());
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); ++id) {
    const Link link = topology.link(id);
    if (link.from < first && link.to >= first) on_leaf_[link.to - first] = true;
  }
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); ++id) {
    const Link link = topology.link(id);
    if (link.from < first || link.to < first) continue;
    if (!on_leaf_[link.from - first] && !on_leaf_[link.to - first]) {
      above_ += link.bandwidth.value;
    }
  }
}

std::uint32_t SharedNetwork::cables_above(std::uint32_t from, std::uint32_t to) {
  if (above_ <= 0) return 0;
  const auto [found, is_new] = known_.try_emplace({leaves_.leaf_of(from), leaves_.leaf_of(to)}, 0);
  if (!is_new) return found->second;
  const DeviceId first = topology_.first_fabric_device();
  for (const LinkId id :
       router_.route(first_gpu(topology_, from), first_gpu(topology_, to)).links) {
    const Link link = topology_.link(id);
    const bool between = link.from >= first && link.to >= first;
    if (between && !on_leaf_[link.from - first] && !on_leaf_[link.to - first]) ++found->second;
  }
  return found->second;
}

Seconds SharedNetwork::busy_time(const NodeTraffic& traffic) {
  std::vector<double> out(nics_.size());
  std::vector<double> in(nics_.size());
  std::vector<double> up(leaves_.count());
  std::vector<double> down(leaves_.count());
  double above = 0;
  for (const auto& [nodes, bytes] : traffic) {
    const auto& [from, to] = nodes;
    out[from] += bytes;
    in[to] += bytes;
    if (leaves_.leaf_of(from) == leaves_.leaf_of(to)) continue;
    up[leaves_.leaf_of(from)] += bytes;
    down[leaves_.leaf_of(to)] += bytes;
    above += bytes * cables_above(from, to);
  }
  double longest = 0;
  const auto consider = [&](double bytes, double rate) {
    if (rate > 0) longest = std::max(longest, bytes / (reached_ * rate));
  };
  for (std::size_t node = 0; node < nics_.size(); ++node) {
    consider(std::max(out[node], in[node]), nics_[node]);
  }
  for (std::uint32_t leaf = 0; leaf < leaves_.count(); ++leaf) {
    consider(std::max(up[leaf], down[leaf]), leaves_.uplink(leaf));
  }
  consider(above, above_);
  return Seconds{longest};
}

}  // namespace collsim
