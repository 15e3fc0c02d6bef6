#include "models/estimate/stripe_shapes.h"

#include <algorithm>
#include <vector>

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

}  // namespace

const StripeShape& StripeShapes::shape(NcclAlgorithm algorithm, std::uint32_t channels) {
  const auto [found, added] = shapes_.try_emplace({algorithm, channels});
  if (added) found->second = made(algorithm, channels);
  return found->second;
}

StripeHops& StripeShapes::hops(NcclAlgorithm algorithm, std::uint32_t channels) {
  // Where ways depend on those before, each machine lays its own.
  const bool is_kept = known_ != nullptr && !compiler_.topology().takes_detours();
  auto& hops = (is_kept ? *known_ : own_)[{algorithm, channels}];
  if (!hops) hops = std::make_unique<StripeHops>(compiler_, algorithm, channels);
  return *hops;
}

StripeShape StripeShapes::made(NcclAlgorithm algorithm, std::uint32_t channels) {
  StripeHops& hops = this->hops(algorithm, channels);
  const NcclStripes& stripes = hops.stripes();
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
  add_local_hops(shape, hops);
  if (stripes.node_count() > 1) add_network_hops(shape, hops, channels);
  return shape;
}

void StripeShapes::add_local_hops(StripeShape& shape, StripeHops& hops) {
  const LocalStripeHops local = hops.local(view_);
  kinds_.insert(local.kinds.begin(), local.kinds.end());
  if (!local.kinds.empty()) shape.slowest = std::max(shape.slowest, *local.kinds.rbegin());
  shape.local_kind = local.kind;
  shape.local_latency = local.latency;
  shape.local_load = local.load;
  shape.speed = view_.min_speed();
}

void StripeShapes::add_network_hops(StripeShape& shape, StripeHops& hops, std::uint32_t channels) {
  if (shape.over_tree) shape.slowest = LinkKind::network;
  kinds_.insert(LinkKind::network);
  for (std::uint32_t channel = 0; shape.over_tree && channel < std::min(channels, 2U); ++channel) {
    const RootedTree& tree = hops.tree(channel);
    shape.children = std::max(shape.children, max_children(tree));
    shape.levels = std::max(shape.levels, static_cast<double>(edges_by_level(tree).size()));
  }
  const NetworkStripeHops network = hops.network(view_);
  shape.network_latency = network.latency;
  shape.slow_latency = network.slow_latency;
  shape.network_load = network.load;
  // A head of two nodes sends up in one tree and down in the other; of more nodes to two children.
  const double of_hop = shape.over_tree ? std::min(shape.nodes, 3.0) : 1;
  shape.network_hop = network.load_beside / of_hop;
  // Flows to or from two children wait for each other.
  const double together = of_hop > 2 ? 2 : 1;
  shape.slow_hop = (network.load - network.load_beside) * together / of_hop;
}

}  // namespace collsim
