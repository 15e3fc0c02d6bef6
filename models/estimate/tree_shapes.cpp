#include "models/estimate/tree_shapes.h"

#include <algorithm>
#include <set>
#include <utility>

namespace collsim {

namespace {

/// Of each rank, the leaf below it that is farthest, which is itself where there is none.
std::vector<Rank> farthest_leaves(const RootedTree& tree,
                                  const std::vector<std::vector<Rank>>& children,
                                  const MachineView& view) {
  constexpr double between_nodes = 4;  // times as long as others, roughly
  std::vector<Rank> order;
  for (Rank rank = 0; rank < tree.size(); ++rank) {
    if (!tree.parent[rank]) order.push_back(rank);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    order.insert(order.end(), children[order[i]].begin(), children[order[i]].end());
  }
  std::vector<double> height(tree.size());
  std::vector<Rank> farthest(tree.size());
  for (Rank rank = 0; rank < tree.size(); ++rank) farthest[rank] = rank;
  for (auto rank = order.rbegin(); rank != order.rend(); ++rank) {
    for (const Rank child : children[*rank]) {
      const bool within = view.node_of(child) == view.node_of(*rank);
      const double above = height[child] + (within ? 1 : between_nodes);
      if (above <= height[*rank]) continue;
      height[*rank] = above;
      farthest[*rank] = farthest[child];
    }
  }
  return farthest;
}

/// The index of a place among all: of one that is alike, or of its own, which is added.
std::uint32_t add_place(std::vector<TreePlace>& places, const TreePlace& place) {
  const auto same = std::find_if(places.begin(), places.end(), [&](const TreePlace& other) {
    return other.children == place.children && other.root == place.root &&
           other.slowest == place.slowest && other.speed == place.speed &&
           alike(other.up, place.up) && alike(other.down, place.down);
  });
  const auto index = static_cast<std::uint32_t>(same - places.begin());
  if (same == places.end()) places.push_back(place);
  return index;
}

void add_stop(std::vector<TreeShape::Stop>& way, const TreeShape::Stop& stop) {
  const auto same = std::find_if(way.begin(), way.end(), [&](const TreeShape::Stop& other) {
    return other.place == stop.place && alike(other.hop, stop.hop);
  });
  if (same == way.end()) {
    way.push_back(stop);
  } else {
    ++same->weight;
  }
}

}  // namespace

/// Ways to the root: from the leaf that is farthest, and from the one that is farthest below each
/// rank that a fault touches; from every leaf where nodes are unlike.
std::vector<std::vector<Rank>> TreeShapes::longest_ways(std::uint32_t channel,
                                                        const LaidTree& tree) const {
  const RootedTree& rooted = this->rooted(channel);
  std::set<Rank> leaves;
  for (Rank rank = 0; rank < rooted.size() && leaves.empty(); ++rank) {
    if (!rooted.parent[rank]) leaves.insert(tree.farthest[rank]);
  }
  for (const Rank rank : view_.touched_ranks()) leaves.insert(tree.farthest[rank]);
  // A long chain inside one node may be as far by hops as a short one beyond the network.
  for (Rank rank = 0; !view_.has_like_nodes() && rank < rooted.size(); ++rank) {
    if (tree.children[rank].empty()) leaves.insert(rank);
  }
  std::vector<std::vector<Rank>> ways;
  for (const Rank leaf : leaves) {
    std::vector<Rank>& way = ways.emplace_back(1, leaf);
    while (rooted.parent[way.back()]) way.push_back(*rooted.parent[way.back()]);
  }
  return ways;
}

const LaidTree& TreeShapes::tree(std::uint32_t channel) {
  const auto [found, added] = hops_.of(NcclAlgorithm::tree).trees.try_emplace(channel);
  if (added) lay(channel, found->second);
  return found->second;
}

/// The hops between a rank and its children are at the same time, those up and those down.
void TreeShapes::lay(std::uint32_t channel, LaidTree& tree) {
  const RootedTree& rooted = this->rooted(channel);
  LaidHops& laid = hops_.laid(NcclAlgorithm::tree);
  tree.children.resize(rooted.size());
  for (Rank rank = 0; rank < rooted.size(); ++rank) {
    if (rooted.parent[rank]) tree.children[*rooted.parent[rank]].push_back(rank);
  }
  tree.farthest = farthest_leaves(rooted, tree.children, view_);
  tree.up.assign(rooted.size(), no_hop);
  tree.down = tree.up;
  const auto lay_hops = [&](Rank rank) {
    const auto parent = rooted.parent[rank];
    if (!parent) return;
    tree.up[rank] = laid.lay(channel, rank, *parent, 2 * *parent);
    tree.down[rank] = laid.lay(channel, *parent, rank, 2 * *parent + 1);
  };
  for (const auto& way : longest_ways(channel, tree)) {
    for (const Rank rank : way) lay_hops(rank);
  }
  for (Rank rank = 0; rank < rooted.size(); ++rank) {
    if (rooted.parent[rank] && view_.shows_hop(rank, *rooted.parent[rank])) lay_hops(rank);
  }
}

const TreeShapes::Seen& TreeShapes::seen(std::uint32_t channel, const LinkConditions& now) {
  const auto [found, added] = seen_.try_emplace(channel);
  Seen& seen = found->second;
  if (!added) return seen;
  const LaidHops& laid = hops_.laid(NcclAlgorithm::tree);
  const LaidTree& tree = this->tree(channel);
  const RootedTree& rooted = this->rooted(channel);
  seen.ways = longest_ways(channel, tree);
  seen.changed.resize(rooted.size());
  for (Rank rank = 0; rank < rooted.size(); ++rank) {
    if (view_.speed(rank) != 1) seen.changed[rank] = true;
    if (view_.states().empty() || tree.up[rank] == no_hop) continue;
    if (!laid.is_changed(tree.up[rank], now) && !laid.is_changed(tree.down[rank], now)) continue;
    seen.changed[rank] = true;
    seen.changed[*rooted.parent[rank]] = true;
  }
  return seen;
}

const std::vector<TreeShape>& TreeShapes::trees(const UsedChannels& channels) {
  const auto [found, added] = trees_.try_emplace(channels);
  if (!added) return found->second;
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) tree(channel);
  const HopClasses& classes = hops_.classes(NcclAlgorithm::tree, channels);
  const LinkConditions now = hops_.now(hops_.laid(NcclAlgorithm::tree));
  found->second = unlike_shapes<TreeShape>(
      channels, [&](std::uint32_t channel) { return shape(channel, channels, classes, now); });
  return found->second;
}

/// Where a rank is in a channel's tree; `class_of` says what hops are.
TreePlace TreeShapes::place(std::uint32_t channel, Rank rank, const ClassOf& class_of) {
  const LaidHops& laid = hops_.laid(NcclAlgorithm::tree);
  const LaidTree& tree = this->tree(channel);
  TreePlace place;
  place.children = static_cast<std::uint32_t>(tree.children[rank].size());
  place.root = !rooted(channel).parent[rank];
  if (!place.root) {
    place.up = class_of(tree.up[rank]);
    place.slowest = std::max(place.up.kind, laid.hop(tree.down[rank]).kind);
  }
  for (const Rank child : tree.children[rank]) {
    if (tree.down[child] == no_hop) continue;
    const HopClass down = class_of(tree.down[child]);
    place.slowest = std::max({place.slowest, down.kind, laid.hop(tree.up[child]).kind});
    if (place.down.capacity == 0 || down.share(1) < place.down.share(1)) place.down = down;
  }
  return place;
}

/// On the healthy machine.
const TreePlaces& TreeShapes::laid_places(std::uint32_t channel, const UsedChannels& channels,
                                          const HopClasses& classes) {
  const auto [found, added] = hops_.of(NcclAlgorithm::tree).places.try_emplace({channels, channel});
  TreePlaces& all = found->second;
  if (!added) return all;
  const LaidTree& tree = this->tree(channel);
  all.of_rank.resize(compiler_.ranks());
  for (Rank rank = 0; rank < compiler_.ranks(); ++rank) {
    if (rooted(channel).parent[rank] && tree.up[rank] == no_hop) continue;
    all.of_rank[rank] =
        add_place(all.places, place(channel, rank, [&](Id hop) { return classes.of(hop); }));
  }
  return all;
}

TreeShape TreeShapes::shape(std::uint32_t channel, const UsedChannels& channels,
                            const HopClasses& classes, const LinkConditions& now) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  const LaidTree& tree = this->tree(channel);
  const Seen& seen = this->seen(channel, now);
  const TreePlaces& laid = laid_places(channel, channels, classes);
  TreeShape shape;
  std::vector<std::uint32_t> places(laid.places.size(), none);  // of those as they were laid
  const auto class_of = [&](Id hop) { return classes.of(hop, now); };
  const auto place_of = [&](Rank rank) {
    if (!seen.changed[rank]) {
      std::uint32_t& place = places[laid.of_rank[rank]];
      if (place == none) place = add_place(shape.places, laid.places[laid.of_rank[rank]]);
      return place;
    }
    TreePlace place = this->place(channel, rank, class_of);
    place.speed = view_.speed(rank);
    return add_place(shape.places, place);
  };
  for (const std::vector<Rank>& way : seen.ways) {
    TreeShape::Way& stops = shape.ways.emplace_back();
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
      add_stop(stops.up, {place_of(way[i]), class_of(tree.up[way[i]]), 1});
      add_stop(stops.down, {place_of(way[i + 1]), class_of(tree.down[way[i]]), 1});
    }
  }
  for (Rank rank = 0; rank < compiler_.ranks(); ++rank) {
    const Rank node = view_.node_of(rank);
    if (view_.shows(node)) shape.places[place_of(rank)].weight += view_.weight(node);
  }
  return shape;
}

const std::vector<TreeShape>& TreeShapes::chains(std::uint32_t channels) {
  const auto [found, added] = chains_.try_emplace(channels);
  if (!added) return found->second;
  for (const Rank node : view_.unlike_nodes()) found->second.push_back(chain(channels, node));
  return found->second;
}

/// Of a node; the first channel stands for all.
TreeShape TreeShapes::chain(std::uint32_t channels, Rank node) {
  AlgorithmHops own = hops_.none(NcclAlgorithm::collnet_chain);
  LaidHops& laid = own.laid;
  const auto& all = compiler_.nccl()->channels().channels;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    // The switch is on the way to the head of another node.
    const auto& others = all[channel].chains;
    const Rank last = view_.node_of(others.back().front());
    std::vector<Rank> way{(node == last ? others.front() : others.back()).front()};
    const auto& chain = others[node];
    way.insert(way.end(), chain.begin(), chain.end());
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
      // None of them waits for another.
      const auto up = static_cast<std::uint32_t>(laid.size());
      laid.lay(channel, way[i + 1], way[i], up);
      laid.lay(channel, way[i], way[i + 1], up + 1);
    }
  }
  const HopClasses classes(laid, {channels, 1}, std::vector<std::uint32_t>(channels));
  for (const LinkKind kind : classes.kinds()) hops_.add_kind(kind);
  const LinkConditions now = hops_.now(laid);
  TreeShape shape;
  shape.several_peers = false;
  TreeShape::Way& way = shape.ways.emplace_back();
  const auto& chain = all.front().chains[node];
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const bool last = i + 1 == chain.size();
    TreePlace place;
    place.children = last ? 0 : 1;
    place.weight = 1;
    place.speed = view_.speed(chain[i]);
    place.up = classes.of(static_cast<Id>(2 * i), now);
    if (!last) place.down = classes.of(static_cast<Id>(2 * i + 3), now);
    // The network's switch does not count (slowest_links()).
    const LinkKind above = i == 0 ? LinkKind::nvlink : place.up.kind;
    place.slowest = last ? above : std::max(above, place.down.kind);
    shape.places.push_back(place);
    way.up.push_back({i, place.up, 1});
    if (!last) way.down.push_back({i, place.down, 1});
  }
  shape.network = shape.places.front().up;
  return shape;
}

}  // namespace collsim
