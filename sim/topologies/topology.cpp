#include "sim/topologies/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace collsim {

std::string_view to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::gpu:
      return "gpu";
    case DeviceKind::nvswitch:
      return "nvswitch";
    case DeviceKind::pcie_switch:
      return "pcie_switch";
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::nic:
      return "nic";
    case DeviceKind::network_switch:
      return "network_switch";
  }
  assert(false);
  return "";
}

std::string_view to_string(LinkKind kind) {
  switch (kind) {
    case LinkKind::nvlink:
      return "nvlink";
    case LinkKind::pcie:
      return "pcie";
    case LinkKind::cpu:
      return "cpu";
    case LinkKind::network:
      return "network";
  }
  assert(false);
  return "";
}

std::span<const LinkId> Topology::links_from(DeviceId id) const {
  return std::span(outgoing_).subspan(outgoing_begin_[id],
                                      outgoing_begin_[id + 1] - outgoing_begin_[id]);
}

std::string Topology::link_name(LinkId id) const {
  const Link& link = links_[id];
  return fmt::format("{} -> {}", devices_[link.from].name, devices_[link.to].name);
}

TopologyBuilder::TopologyBuilder(std::string name, std::string calibration) {
  topology_.name_ = std::move(name);
  topology_.calibration_ = std::move(calibration);
}

DeviceId TopologyBuilder::add_device(Device device) {
  topology_.devices_.push_back(std::move(device));
  return static_cast<DeviceId>(topology_.devices_.size() - 1);
}

LinkId TopologyBuilder::add_link(DeviceId from, DeviceId to, LinkKind kind,
                                 BytesPerSecond bandwidth, Seconds latency, std::uint32_t count,
                                 Burst burst) {
  assert(from < topology_.devices_.size() && to < topology_.devices_.size() && from != to);
  const auto forward = static_cast<LinkId>(topology_.links_.size());
  topology_.links_.push_back({from, to, kind, count, bandwidth, latency, forward + 1, burst});
  topology_.links_.push_back({to, from, kind, count, bandwidth, latency, forward, burst});
  return forward;
}

SharedResourceId TopologyBuilder::add_shared_resource(SharedResource resource) {
  assert(std::all_of(resource.links.begin(), resource.links.end(),
                     [this](LinkId link) { return link < topology_.links_.size(); }));
  topology_.shared_resources_.push_back(std::move(resource));
  return static_cast<SharedResourceId>(topology_.shared_resources_.size() - 1);
}

void TopologyBuilder::let_network_reduce() {
  for (Device& device : topology_.devices_) {
    if (device.kind == DeviceKind::network_switch) device.reduces = true;
  }
}

Topology TopologyBuilder::build() && {
  Topology& topology = topology_;
  topology.outgoing_begin_.assign(topology.devices_.size() + 1, 0);
  for (const Link& link : topology.links_) ++topology.outgoing_begin_[link.from + 1];
  std::partial_sum(topology.outgoing_begin_.begin(), topology.outgoing_begin_.end(),
                   topology.outgoing_begin_.begin());
  topology.outgoing_.resize(topology.links_.size());
  std::vector<std::uint32_t> next(topology.outgoing_begin_.begin(),
                                  topology.outgoing_begin_.end() - 1);
  for (LinkId id = 0; id < topology.links_.size(); ++id) {
    topology.outgoing_[next[topology.links_[id].from]++] = id;
  }

  std::int32_t last_node = -1;
  for (DeviceId id = 0; id < topology.devices_.size(); ++id) {
    const Device& device = topology.devices_[id];
    last_node = std::max(last_node, device.node);
    if (device.kind == DeviceKind::gpu) topology.gpus_.push_back(id);
  }
  topology.node_count_ = static_cast<std::uint32_t>(last_node + 1);
  // Node by node, whatever order the devices were added in.
  std::stable_sort(topology.gpus_.begin(), topology.gpus_.end(), [&](DeviceId a, DeviceId b) {
    return topology.devices_[a].node < topology.devices_[b].node;
  });
  return std::move(topology_);
}

}  // namespace collsim
