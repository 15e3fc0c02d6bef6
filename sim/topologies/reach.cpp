#include "sim/topologies/reach.h"

#include <algorithm>
#include <numeric>

namespace collsim {

namespace {

/// By device of the template: the first device that links of the kind join it to.
std::vector<std::uint32_t> joined_inside(const Graph& graph, std::optional<LinkKind> kind) {
  JoinedSets sets(graph.devices.size());
  for (const GraphLink& link : graph.links) {
    if (link.kind == kind.value_or(link.kind)) sets.join(link.from, link.to);
  }
  std::vector<std::uint32_t> firsts;
  std::map<std::uint32_t, std::uint32_t> first_of_set;
  for (std::uint32_t device = 0; device < graph.devices.size(); ++device) {
    firsts.push_back(first_of_set.emplace(sets.set_of(device), device).first->second);
  }
  return firsts;
}

}  // namespace

JoinedSets::JoinedSets(std::size_t size) : parent_(size) {
  std::iota(parent_.begin(), parent_.end(), 0U);
}

std::uint32_t JoinedSets::set_of(std::uint32_t member) {
  while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
  return member;
}

JoinedDevices::JoinedDevices(const Topology& topology, std::optional<LinkKind> kind)
    : topology_(topology), kind_(kind), sets_(topology.devices().size()) {
  for (LinkId id = topology.first_fabric_link(); id < topology.links().size(); id += 2) {
    const Link link = topology.link(id);
    if (link.kind != kind.value_or(link.kind)) continue;
    sets_.join(first_inside(link.from), first_inside(link.to));
  }
}

std::uint32_t JoinedDevices::set_of(DeviceId device) {
  return sets_.set_of(first_inside(device));
}

DeviceId JoinedDevices::first_inside(DeviceId device) {
  const std::int32_t node = topology_.node_of(device);
  if (node < 0) return device;
  const NodePart part = topology_.node(static_cast<std::uint32_t>(node));
  if (part.graph != last_) {
    last_ = part.graph;
    std::vector<std::uint32_t>& firsts = firsts_[last_];
    if (firsts.empty()) firsts = joined_inside(last_->graph(), kind_);
    firsts_of_last_ = &firsts;
  }
  return part.first_device + (*firsts_of_last_)[device - part.first_device];
}

std::optional<DeviceId> unreachable_gpu(const Topology& topology) {
  JoinedDevices joined(topology);
  const auto gpus = topology.gpus();
  const std::uint32_t set = joined.set_of(gpus.front());
  const auto lost = std::find_if(gpus.begin(), gpus.end(),
                                 [&](DeviceId gpu) { return joined.set_of(gpu) != set; });
  return lost == gpus.end() ? std::nullopt : std::optional(*lost);
}

}  // namespace collsim
