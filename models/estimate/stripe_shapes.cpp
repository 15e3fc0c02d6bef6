#include "models/estimate/stripe_shapes.h"

#include <algorithm>

#include "sim/algorithms/patterns.h"

namespace collsim {

namespace {

double max_children(const RootedTree& tree) {
  std::vector<double> children(tree.size());
  for (const auto& parent : tree.parent) {
    if (parent) ++children[*parent];
  }
  return *std::max_element(children.begin(), children.end());
}

/// The NVSwitches of a GPU's node that add up.
std::vector<DeviceId> switches_near(const Topology& topology, DeviceId gpu) {
  std::vector<DeviceId> switches;
  const std::int32_t number = topology.node_of(gpu);
  if (number < 0) return switches;
  const NodePart part = topology.node(static_cast<std::uint32_t>(number));
  const std::vector<GraphDevice>& devices = part.graph->graph().devices;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].reduces && devices[i].kind == DeviceKind::nvswitch) {
      switches.push_back(part.first_device + static_cast<DeviceId>(i));
    }
  }
  return switches;
}

/// How many use each link.
std::vector<double> users_of(const LaidHops& laid, const std::vector<LaidHops::Id>& hops,
                             double weight) {
  std::vector<double> users(laid.resource_count());
  for (const LaidHops::Id hop : hops) {
    for (const ResourceId resource : laid.resources(hop)) users[resource] += weight;
  }
  return users;
}

/// A hop of a stripe that a fault has changed.
struct SlowHop {
  std::uint32_t channel = 0;
  Rank from = 0;
  Rank to = 0;
  double later = 0;  // there and back, than others
};

/// The most that two slow hops in a row, or one, take longer than others.
double longest_way(const std::vector<SlowHop>& hops) {
  std::map<std::pair<std::uint32_t, Rank>, double> above;  // by channel and sender
  for (const SlowHop& hop : hops) {
    double& longest = above[{hop.channel, hop.from}];
    longest = std::max(longest, hop.later);
  }
  double longest = 0;
  for (const SlowHop& hop : hops) {
    const auto next = above.find({hop.channel, hop.to});
    longest = std::max(longest, hop.later + (next == above.end() ? 0 : next->second));
  }
  return longest;
}

}  // namespace

StripeShapes::StripeShapes(const CallCompiler& compiler, CallHops& hops)
    : compiler_(compiler), view_(hops.view()), hops_(hops) {}

const NcclStripes& StripeShapes::stripes(NcclAlgorithm algorithm) const {
  const NcclChannels& all = compiler_.nccl()->channels();
  return algorithm == NcclAlgorithm::collnet_direct ? all.collnet : all.nvls;
}

const StripeShape& StripeShapes::shape(NcclAlgorithm algorithm, std::uint32_t channels) {
  const auto [found, added] = shapes_.try_emplace({algorithm, channels});
  if (added) found->second = made(algorithm, channels);
  return found->second;
}

StripeShape StripeShapes::made(NcclAlgorithm algorithm, std::uint32_t channels) {
  const NcclStripes& stripes = this->stripes(algorithm);
  StripeShape shape;
  shape.collective = under_nccl(compiler_.spec().collective);
  shape.in_switch = algorithm != NcclAlgorithm::collnet_direct;
  shape.over_tree = algorithm == NcclAlgorithm::nvls_tree;
  shape.ranks_per_node = static_cast<double>(stripes.nodes.front().size());
  shape.stripes = stripes.stripes();
  shape.nodes = stripes.node_count();
  shape.speed = view_.min_speed();
  std::map<std::uint32_t, double> headed;
  for (const std::uint32_t head : stripes.heads) {
    shape.heads_per_rank = std::max(shape.heads_per_rank, ++headed[head]);
  }
  const LaidHops& laid = hops_.laid(algorithm);
  add_local_hops(shape, laid, local_hops(algorithm, channels));
  if (stripes.node_count() == 1) return shape;
  trees_ = {binary_tree(stripes.node_count()), second_binary_tree(stripes.node_count())};
  if (shape.over_tree) add_tree(shape, channels);
  add_network_hops(shape, laid, network_hops(algorithm, channels));
  return shape;
}

/// How ranks reach the heads of their node, or the switches that add up there. The first rank of
/// the first node stands for all that no fault touches.
std::vector<LaidHops::Id> StripeShapes::local_hops(NcclAlgorithm algorithm,
                                                   std::uint32_t channels) {
  const NcclStripes& stripes = this->stripes(algorithm);
  LaidHops& laid = hops_.laid(algorithm);
  std::vector<Rank> ranks = view_.touched_ranks();
  const Rank first = stripes.nodes.front().front();
  if (std::find(ranks.begin(), ranks.end(), first) == ranks.end()) {
    ranks.insert(ranks.begin(), first);
  }
  std::vector<Id> hops;
  for (const Rank rank : ranks) {
    const std::vector<Rank>& node = stripes.nodes[view_.node_of(rank)];
    if (node.size() == 1) continue;
    const auto switches = algorithm == NcclAlgorithm::collnet_direct
                              ? std::vector<DeviceId>{}
                              : switches_near(compiler_.topology(), compiler_.spec().gpus[rank]);
    const Rank head = rank == node.front() ? node.back() : node.front();
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      if (switches.empty()) {
        hops.push_back(laid.lay(channel, rank, head));
        hops.push_back(laid.lay(channel, head, rank));
      } else {
        hops.push_back(laid.lay_there_and_back(channel, rank, switches[channel % switches.size()]));
        hops.push_back(hops.back() + 1);
      }
    }
  }
  return hops;
}

void StripeShapes::add_local_hops(StripeShape& shape, const LaidHops& laid,
                                  const std::vector<Id>& hops) {
  const LinkConditions now = hops_.now(laid);
  for (const Id hop : hops) {
    shape.local_kind = laid.hop(hop).kind;
    shape.slowest = std::max(shape.slowest, shape.local_kind);
    shape.local_latency = std::max(shape.local_latency, laid.latency(hop, now));
    hops_.add_kind(shape.local_kind);
  }
  shape.local_load = laid.busiest(users_of(laid, hops, 1), now);
}

void StripeShapes::add_tree(StripeShape& shape, std::uint32_t channels) const {
  shape.slowest = LinkKind::network;
  for (std::uint32_t channel = 0; channel < std::min(channels, 2U); ++channel) {
    const RootedTree& tree = this->tree(channel);
    shape.children = std::max(shape.children, max_children(tree));
    shape.levels = std::max(shape.levels, static_cast<double>(edges_by_level(tree).size()));
  }
}

/// Heads of a stripe in a tree; else each through a switch on the way to the next node's. A root's
/// is itself.
Rank StripeShapes::other_end(bool over_tree, std::uint32_t channel, Rank node) const {
  if (over_tree) return tree(channel).parent[node].value_or(node);
  return (node + 1) % static_cast<Rank>(trees_.front().size());
}

/// Whether the first nodes have it, or a fault touches either end of its hops.
bool StripeShapes::is_shown(bool over_tree, std::uint32_t channels, Rank node) const {
  if (view_.shows(node)) return true;
  for (std::uint32_t channel = 0; channel < std::min(channels, 2U); ++channel) {
    if (view_.touches(other_end(over_tree, channel, node))) return true;
  }
  return false;
}

/// How heads of one stripe reach each other, there and back by turns.
std::vector<LaidHops::Id> StripeShapes::network_hops(NcclAlgorithm algorithm,
                                                     std::uint32_t channels) {
  const NcclStripes& stripes = this->stripes(algorithm);
  LaidHops& laid = hops_.laid(algorithm);
  const bool over_tree = algorithm == NcclAlgorithm::nvls_tree;
  std::vector<Id> hops;
  for (Rank node = 0; node < stripes.node_count(); ++node) {
    if (!is_shown(over_tree, channels, node)) continue;
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      const Rank other = other_end(over_tree, channel, node);
      for (std::uint32_t stripe = 0; other != node && stripe < stripes.stripes(); ++stripe) {
        hops.push_back(laid.lay(channel, stripes.head(node, stripe), stripes.head(other, stripe)));
        hops.push_back(laid.lay(channel, stripes.head(other, stripe), stripes.head(node, stripe)));
      }
    }
  }
  return hops;
}

/// What the network threads of ranks have to do, of which one has most.
void StripeShapes::add_proxy_tasks(StripeShape& shape, const LaidHops& laid,
                                   const std::vector<Id>& hops) const {
  std::map<Rank, std::pair<double, double>> tasks;
  for (const Id id : hops) {
    if (laid.network(id).empty()) continue;
    ++tasks[laid.hop(id).from].first;
    ++tasks[laid.hop(id).to].second;
  }
  for (const auto& [rank, own] : tasks) {
    if (own.first + own.second <= shape.proxy_sends + shape.proxy_receives) continue;
    std::tie(shape.proxy_sends, shape.proxy_receives) = own;
  }
}

void StripeShapes::add_network_hops(StripeShape& shape, const LaidHops& laid,
                                    const std::vector<Id>& hops) {
  hops_.add_kind(LinkKind::network);
  add_proxy_tasks(shape, laid, hops);
  const LinkConditions now = hops_.now(laid);
  std::vector<double> users = users_of(laid, hops, shape.over_tree ? 1 : 0.5);
  const double load = laid.busiest(users, now);
  std::vector<std::size_t> slow;  // hops there or back
  for (std::size_t i = 0; i < hops.size(); ++i) {
    if (!laid.is_changed(hops[i], now)) {
      shape.network_latency = std::max(shape.network_latency, laid.hop(hops[i]).latency);
      continue;
    }
    slow.push_back(i / 2 * 2);
    for (const ResourceId resource : laid.resources(hops[i])) users[resource] = 0;
  }
  std::vector<SlowHop> ways;
  ways.reserve(slow.size());
  for (const std::size_t i : slow) {
    const LaidHops::Hop& there = laid.hop(hops[i]);
    const double later = laid.latency(hops[i], now) + laid.latency(hops[i + 1], now);
    ways.push_back({there.channel, there.from, there.to, later - 2 * shape.network_latency});
  }
  shape.slow_latency = longest_way(ways);
  const double beside = laid.busiest(users, now);
  // A head of two nodes sends up in one tree and down in the other; of more nodes to two children.
  const double of_hop = shape.over_tree ? std::min(shape.nodes, 3.0) : 1;
  shape.network_load = load;
  shape.network_hop = beside / of_hop;
  // Flows to or from two children wait for each other.
  const double together = of_hop > 2 ? 2 : 1;
  shape.slow_hop = (load - beside) * together / of_hop;
}

}  // namespace collsim
