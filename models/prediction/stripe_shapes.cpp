#include "models/prediction/stripe_shapes.h"

#include <algorithm>
#include <vector>

#include "models/machine/hop_wires.h"
#include "models/prediction/hop_classes.h"
#include "sim/algorithms/patterns.h"

namespace collsim {

namespace {

/// The NVSwitches of a GPU's node that add up.
std::vector<DeviceId> switches_near(const Topology& topology, DeviceId gpu) {
  std::vector<DeviceId> switches;
  for (DeviceId id = 0; id < topology.devices().size(); ++id) {
    const Device device = topology.device(id);
    if (device.reduces && device.kind == DeviceKind::nvswitch &&
        device.node == topology.device(gpu).node) {
      switches.push_back(id);
    }
  }
  return switches;
}

double most_children(const RootedTree& tree) {
  std::vector<double> children(tree.size());
  for (const auto& parent : tree.parent) {
    if (parent) ++children[*parent];
  }
  return *std::max_element(children.begin(), children.end());
}

}  // namespace

const StripeShape& StripeShapes::shape(NcclAlgorithm algorithm, std::uint32_t channels) {
  const auto [found, added] = shapes_.try_emplace({algorithm, channels});
  if (added) found->second = made(algorithm, channels);
  return found->second;
}

StripeShape StripeShapes::made(NcclAlgorithm algorithm, std::uint32_t channels) {
  const NcclChannels& all = planner_.nccl()->channels();
  const NcclStripes& stripes = algorithm == NcclAlgorithm::collnet_direct ? all.collnet : all.nvls;
  StripeShape shape;
  shape.collective = under_nccl(planner_.spec().collective);
  shape.in_switch = algorithm != NcclAlgorithm::collnet_direct;
  shape.over_tree = algorithm == NcclAlgorithm::nvls_tree;
  shape.ranks_per_node = static_cast<double>(stripes.nodes.front().size());
  shape.stripes = stripes.stripes();
  shape.nodes = stripes.node_count();
  std::map<std::uint32_t, double> headed;
  for (const std::uint32_t head : stripes.heads) {
    shape.heads_per_rank = std::max(shape.heads_per_rank, ++headed[head]);
  }
  add_local_hops(shape, stripes, algorithm, channels);
  if (stripes.node_count() > 1) add_network_hops(shape, stripes, algorithm, channels);
  return shape;
}

/// The first rank of the first node stands for all.
void StripeShapes::add_local_hops(StripeShape& shape, const NcclStripes& stripes,
                                  NcclAlgorithm algorithm, std::uint32_t channels) {
  HopWires wires(planner_.topology(), planner_.spec().gpus, planner_.cost(),
                 planner_.hop_rules(algorithm));
  const std::vector<Rank>& node = stripes.nodes.front();
  const auto switches = switches_near(planner_.topology(), planner_.spec().gpus[node.front()]);
  LinkUsers users(wires);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    if (node.size() < 2) continue;
    const Wire wire =
        shape.in_switch && !switches.empty()
            ? wires.lay_to_switch(channel, node.front(), switches[channel % switches.size()])
            : wires.lay(channel, node.back(), node.front());
    users.add(wire);
    kinds_.insert(wire.kind);
    shape.slowest = std::max(shape.slowest, wire.kind);
    shape.local_kind = wire.kind;
    shape.local_latency = wire.latency.value;
  }
  shape.local_load = users.busiest();
}

/// Heads of a stripe in a tree; else each through a switch on the way to the next node's.
void StripeShapes::add_network_hops(StripeShape& shape, const NcclStripes& stripes,
                                    NcclAlgorithm algorithm, std::uint32_t channels) {
  shape.slowest = LinkKind::network;
  kinds_.insert(shape.slowest);
  HopWires wires(planner_.topology(), planner_.spec().gpus, planner_.cost(),
                 planner_.hop_rules(algorithm));
  LinkUsers users(wires);
  const Rank nodes = stripes.node_count();
  const Rank window = std::min(nodes, window_of_nodes);
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const RootedTree tree = channel % 2 == 0 ? binary_tree(nodes) : second_binary_tree(nodes);
    for (Rank node = 0; node < window; ++node) {
      const Rank other = shape.over_tree ? tree.parent[node].value_or(node) : (node + 1) % window;
      for (std::uint32_t stripe = 0; other != node && stripe < stripes.stripes(); ++stripe) {
        const Rank from = stripes.head(node, stripe);
        const Rank to = stripes.head(other, stripe);
        for (const Wire& wire : {wires.lay(channel, from, to), wires.lay(channel, to, from)}) {
          users.add(wire, shape.over_tree ? 1 : 0.5);
          shape.network_latency = std::max(shape.network_latency, wire.latency.value);
        }
      }
    }
    if (!shape.over_tree || channel > 1) continue;
    shape.children = std::max(shape.children, most_children(tree));
    shape.levels = std::max(shape.levels, static_cast<double>(edges_by_level(tree).size()));
  }
  shape.network_load = users.busiest();
  shape.network_hop = shape.network_load / (shape.over_tree && nodes > 2 ? 3 : 1);
}

}  // namespace collsim
