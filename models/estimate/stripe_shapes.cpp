#include "models/estimate/stripe_shapes.h"

#include <algorithm>
#include <vector>

#include "models/estimate/hop_classes.h"
#include "models/machine/hop_wires.h"
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

/// A hop of a stripe that a fault has changed.
struct SlowHop {
  std::uint32_t channel = 0;
  Rank from = 0;
  Rank to = 0;
  double latency = 0;  // there and back
};

/// The most that two slow hops in a row, or one, take longer than others.
double longest_way(const std::vector<SlowHop>& hops, double others) {
  double longest = 0;
  for (const SlowHop& hop : hops) {
    double next = 0;
    for (const SlowHop& above : hops) {
      if (above.channel == hop.channel && above.from == hop.to) {
        next = std::max(next, above.latency - others);
      }
    }
    longest = std::max(longest, hop.latency - others + next);
  }
  return longest;
}

double max_children(const RootedTree& tree) {
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
  const NcclChannels& all = compiler_.nccl()->channels();
  const NcclStripes& stripes = algorithm == NcclAlgorithm::collnet_direct ? all.collnet : all.nvls;
  StripeShape shape;
  shape.collective = under_nccl(compiler_.spec().collective);
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

/// The first rank of the first node stands for all that no fault touches.
void StripeShapes::add_local_hops(StripeShape& shape, const NcclStripes& stripes,
                                  NcclAlgorithm algorithm, std::uint32_t channels) {
  HopWires wires = view_.wires(algorithm);
  LinkUsers users(wires);
  const auto add = [&](Rank rank) {
    const std::vector<Rank>& node = stripes.nodes[view_.node_of(rank)];
    if (node.size() < 2) return;
    const auto switches = switches_near(compiler_.topology(), compiler_.spec().gpus[rank]);
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      const Wire wire =
          shape.in_switch && !switches.empty()
              ? wires.lay_to_switch(channel, rank, switches[channel % switches.size()])
              : wires.lay(channel, rank == node.front() ? node.back() : node.front(), rank);
      users.add(wire);
      kinds_.insert(wire.kind);
      shape.slowest = std::max(shape.slowest, wire.kind);
      shape.local_kind = wire.kind;
      shape.local_latency = std::max(shape.local_latency, wire.latency.value);
    }
  };
  const std::vector<Rank> touched = view_.touched_ranks();
  const Rank first = stripes.nodes.front().front();
  if (std::find(touched.begin(), touched.end(), first) == touched.end()) add(first);
  for (const Rank rank : touched) add(rank);
  shape.local_load = users.busiest();
  shape.speed = view_.min_speed();
}

/// Heads of a stripe in a tree; else each through a switch on the way to the next node's.
void StripeShapes::add_network_hops(StripeShape& shape, const NcclStripes& stripes,
                                    NcclAlgorithm algorithm, std::uint32_t channels) {
  if (shape.over_tree) shape.slowest = LinkKind::network;
  kinds_.insert(LinkKind::network);
  HopWires wires = view_.wires(algorithm);
  LinkUsers users(wires);
  const Rank nodes = stripes.node_count();
  std::vector<Wire> changed;
  std::vector<SlowHop> slow;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    const RootedTree tree = channel % 2 == 0 ? binary_tree(nodes) : second_binary_tree(nodes);
    for (Rank node = 0; node < nodes; ++node) {
      if (!view_.shows(node)) continue;
      const Rank other = shape.over_tree ? tree.parent[node].value_or(node) : (node + 1) % nodes;
      for (std::uint32_t stripe = 0; other != node && stripe < stripes.stripes(); ++stripe) {
        const Rank from = stripes.head(node, stripe);
        const Rank to = stripes.head(other, stripe);
        const Wire there = wires.lay(channel, from, to);
        const Wire back = wires.lay(channel, to, from);
        bool is_slow = false;
        for (const Wire* wire : {&there, &back}) {
          users.add(*wire, shape.over_tree ? 1 : 0.5);
          if (wires.is_changed(*wire)) {
            is_slow = true;
            changed.push_back(*wire);
          } else {
            shape.network_latency = std::max(shape.network_latency, wire->latency.value);
          }
        }
        if (is_slow) {
          slow.push_back({channel, from, to, (there.latency + back.latency).value});
        }
      }
    }
    if (!shape.over_tree || channel > 1) continue;
    shape.children = std::max(shape.children, max_children(tree));
    shape.levels = std::max(shape.levels, static_cast<double>(edges_by_level(tree).size()));
  }
  shape.slow_latency = longest_way(slow, 2 * shape.network_latency);
  shape.network_load = users.busiest();
  const double alone = users.busiest_beside(changed);
  // A head of two nodes sends up in one tree and down in the other; of more nodes to two children.
  const double of_hop = shape.over_tree ? std::min(nodes, Rank{3}) : 1;
  shape.network_hop = alone / of_hop;
  // Flows to or from two children wait for each other.
  const double together = of_hop > 2 ? 2 : 1;
  shape.slow_hop = (shape.network_load - alone) * together / of_hop;
}

}  // namespace collsim
