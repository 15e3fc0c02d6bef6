#include "models/estimate/tree_shapes.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace collsim {

namespace {

/// The place of such ranks among the shape's.
std::size_t add_place(TreeShape& shape, const TreePlace& place) {
  const auto same =
      std::find_if(shape.places.begin(), shape.places.end(), [&](const TreePlace& other) {
        return other.children == place.children && other.root == place.root &&
               other.slowest == place.slowest && other.speed == place.speed &&
               alike(other.up, place.up) && alike(other.down, place.down);
      });
  if (same != shape.places.end()) {
    return static_cast<std::size_t>(same - shape.places.begin());
  }
  shape.places.push_back(place);
  return shape.places.size() - 1;
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

bool uses(const Wire& wire, ResourceId resource) {
  const auto is_among = [&](const auto& all) {
    return std::find(all.begin(), all.end(), resource) != all.end();
  };
  return is_among(wire.resources) || is_among(wire.network);
}

}  // namespace

/// From the leaf that is farthest to the root; and of each rank that a fault touches, from the leaf
/// that is farthest below it. Where nodes have unlike chains, from every leaf.
std::vector<std::vector<Rank>> TreeShapes::longest_ways(
    const RootedTree& tree, const std::vector<std::vector<Rank>>& children) const {
  constexpr double between_nodes = 4;  // times as long as others, roughly
  std::vector<Rank> order;
  for (Rank rank = 0; rank < tree.size(); ++rank) {
    if (!tree.parent[rank]) order.push_back(rank);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    order.insert(order.end(), children[order[i]].begin(), children[order[i]].end());
  }
  // How far the farthest leaf below a rank is, and which it is.
  std::vector<double> height(tree.size());
  std::vector<Rank> farthest(tree.size());
  for (Rank rank = 0; rank < tree.size(); ++rank) farthest[rank] = rank;
  for (auto rank = order.rbegin(); rank != order.rend(); ++rank) {
    for (const Rank child : children[*rank]) {
      const bool within = view_.node_of(child) == view_.node_of(*rank);
      const double above = height[child] + (within ? 1 : between_nodes);
      if (above <= height[*rank]) continue;
      height[*rank] = above;
      farthest[*rank] = farthest[child];
    }
  }
  std::set<Rank> leaves{farthest[order.front()]};
  for (const Rank rank : view_.touched_ranks()) leaves.insert(farthest[rank]);
  // A long chain inside one node may be as far by hops as a short one beyond the network.
  for (Rank rank = 0; !view_.has_like_nodes() && rank < tree.size(); ++rank) {
    if (children[rank].empty()) leaves.insert(rank);
  }
  std::vector<std::vector<Rank>> ways;
  for (const Rank leaf : leaves) {
    std::vector<Rank>& way = ways.emplace_back(1, leaf);
    while (tree.parent[way.back()]) way.push_back(*tree.parent[way.back()]);
  }
  return ways;
}

TreeShapes::TreeShapes(const CallCompiler& compiler, const MachineView& view,
                       std::set<LinkKind>& kinds, KnownTrees* known)
    : compiler_(compiler),
      view_(view),
      kinds_(kinds),
      known_(known != nullptr && lays_as_healthy() ? known : &own_) {}

/// Whether the same wires are looked at as on the healthy machine, and are as long.
bool TreeShapes::lays_as_healthy() const {
  if (compiler_.topology().takes_detours()) return false;
  if (view_.has_like_nodes() && compiler_.nccl()->nodes() > window_of_nodes) return false;
  return std::all_of(view_.states().begin(), view_.states().end(), [](const auto& each) {
    const LinkState& state = each.second;
    return !state.avoided && state.latency.value == 0 && state.jitter.value == 0;
  });
}

/// As links are on this machine.
HopWires& TreeShapes::wires() {
  if (known_ == &own_) {
    if (!own_.wires) own_.wires = view_.kept_wires(NcclAlgorithm::tree);
    return *own_.wires;
  }
  if (!known_->wires) {
    known_->compiler = std::make_unique<const CallCompiler>(compiler_.with_faults({}));
    const CallCompiler& healthy = *known_->compiler;
    known_->wires = std::make_unique<HopWires>(healthy.topology(), healthy.spec().gpus,
                                               healthy.cost_of(NcclAlgorithm::tree),
                                               healthy.hop_rules(NcclAlgorithm::tree));
  }
  known_->wires->set_states(view_.states());
  return *known_->wires;
}

std::shared_ptr<const LaidTree> TreeShapes::lay(std::uint32_t channel, LaidTree tree,
                                                const std::vector<std::vector<Rank>>& ways) {
  HopWires& wires = this->wires();
  const std::vector<std::optional<Rank>>& parents = this->tree(channel).parent;
  const auto lay_hop = [&](Rank from, Rank to) {
    if (tree.wires.contains({from, to})) return;
    const auto wire = tree.wires.emplace(Hop(from, to), wires.lay(channel, from, to)).first;
    tree.kinds.insert(wire->second.kind);
  };
  const auto lay_both_ways = [&](Rank rank) {
    if (!parents[rank]) return;
    lay_hop(rank, *parents[rank]);
    lay_hop(*parents[rank], rank);
  };
  for (const auto& way : ways) {
    for (const Rank rank : way) lay_both_ways(rank);
  }
  for (Rank rank = 0; rank < parents.size(); ++rank) {
    if (view_.shows(view_.node_of(rank))) lay_both_ways(rank);
  }
  return std::make_shared<const LaidTree>(std::move(tree));
}

const TreeShapes::Laid& TreeShapes::laid(std::uint32_t channel) {
  const auto [found, added] = laid_.try_emplace(channel);
  Laid& laid = found->second;
  if (!added) return laid;
  const RootedTree& tree = this->tree(channel);
  std::shared_ptr<const LaidTree>& known = known_->trees[channel];
  if (known) {
    laid.ways = longest_ways(tree, known->children);
  } else {
    LaidTree fresh;
    fresh.children.resize(tree.size());
    for (Rank rank = 0; rank < tree.size(); ++rank) {
      if (tree.parent[rank]) fresh.children[*tree.parent[rank]].push_back(rank);
    }
    laid.ways = longest_ways(tree, fresh.children);
    known = lay(channel, std::move(fresh), laid.ways);
  }
  laid.tree = known;
  kinds_.insert(known->kinds.begin(), known->kinds.end());
  return laid;
}

LinkUsers TreeShapes::link_users(const UsedChannels& channels) {
  LinkUsers users(*known_->wires);
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) {
    for (const auto& [hop, wire] : laid(channel).tree->wires) {
      users.add(wire, channels.weight(channel));
    }
  }
  return users;
}

const std::vector<TreeShape>& TreeShapes::trees(const UsedChannels& channels) {
  const auto [found, added] = trees_.try_emplace(channels);
  if (!added) return found->second;
  wires();
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) laid(channel);
  auto users = known_->users.find(channels);
  if (users == known_->users.end()) {
    users = known_->users.emplace(channels, link_users(channels)).first;
  }
  auto ends = known_->ends.find(channels);
  if (ends == known_->ends.end()) {
    ends = known_->ends.emplace(channels, network_ends(channels)).first;
  }
  const Usage usage{users->second, ends->second};
  found->second = unlike_shapes<TreeShape>(
      channels, [&](std::uint32_t channel) { return tree(channel).parent; },
      [&](std::uint32_t channel, const std::vector<std::uint32_t>& in_step) {
        return shape(channel, in_step, usage);
      });
  return found->second;
}

NetworkEnds TreeShapes::network_ends(const UsedChannels& channels) {
  const std::vector<double> none(compiler_.ranks());
  NetworkEnds ends{none, none};
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) {
    for (const auto& [hop, wire] : laid(channel).tree->wires) {
      if (wire.network.empty()) continue;
      ++ends.sends[hop.first];
      ++ends.receives[hop.second];
    }
  }
  return ends;
}

/// The hop, and those of the same rank's other children: all at the same time.
std::vector<TreeShapes::Hop> TreeShapes::siblings(const Hop& hop, std::uint32_t channel) {
  const auto& [from, to] = hop;
  const bool up = tree(channel).parent[from] == to;
  std::vector<Hop> hops;
  for (const Rank child : laid(channel).tree->children[up ? to : from]) {
    hops.push_back(up ? Hop(child, to) : Hop(from, child));
  }
  return hops;
}

HopClass TreeShapes::class_of(const Hop& hop, std::uint32_t channel,
                              const std::vector<std::uint32_t>& in_step, const Usage& usage) {
  const LaidTree& own = *laid(channel).tree;
  const Wire& wire = own.wires.at(hop);
  const std::vector<Hop> at_once = siblings(hop, channel);
  HopClass result = hop_class(wire, usage.users, [&](ResourceId narrowest) {
    double together = 0;
    for (const std::uint32_t other : in_step) {
      for (const Hop& each : at_once) {
        const auto found = laid(other).tree->wires.find(each);
        if (found == laid(other).tree->wires.end()) continue;
        together += uses(found->second, narrowest) ? 1 : 0;
      }
    }
    return together;
  });
  if (wire.network.empty()) return result;
  const auto& [from, to] = hop;
  if (tree(channel).parent[from] != to) {
    for (const Rank child : own.children[from]) {
      const auto beside = own.wires.find({from, child});
      if (beside == own.wires.end() || child == to) continue;
      result.before += beside->second.network.empty() ? 0 : 1;
    }
  }
  result.sends += usage.ends.sends[from];
  result.receives += usage.ends.receives[from];
  return result;
}

/// `in_step`: the channels with the same tree.
TreeShape TreeShapes::shape(std::uint32_t channel, const std::vector<std::uint32_t>& in_step,
                            const Usage& usage) {
  const LaidTree& own = *laid(channel).tree;
  const auto& parents = tree(channel).parent;
  std::map<Hop, HopClass> known;  // a hop is looked at from both its ends, and on every way
  const auto class_of_hop = [&](Rank from, Rank to) {
    const auto [found, added] = known.try_emplace({from, to});
    if (added) found->second = class_of({from, to}, channel, in_step, usage);
    return found->second;
  };
  TreeShape shape;
  const auto place_of = [&](Rank rank) {
    TreePlace place;
    place.children = static_cast<std::uint32_t>(own.children[rank].size());
    place.root = !parents[rank];
    place.speed = view_.speed(rank);
    if (parents[rank]) {
      place.up = class_of_hop(rank, *parents[rank]);
      place.slowest = std::max(place.up.kind, own.wires.at({*parents[rank], rank}).kind);
    }
    for (const Rank child : own.children[rank]) {
      if (!own.wires.contains({rank, child})) continue;
      const HopClass down = class_of_hop(rank, child);
      place.slowest = std::max({place.slowest, down.kind, own.wires.at({child, rank}).kind});
      if (place.down.capacity == 0 || down.share(1) < place.down.share(1)) place.down = down;
    }
    return add_place(shape, place);
  };
  for (const std::vector<Rank>& way : laid(channel).ways) {
    TreeShape::Way& stops = shape.ways.emplace_back();
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
      const Rank below = way[i];
      const Rank above = way[i + 1];
      add_stop(stops.up, {place_of(below), class_of_hop(below, above), 1});
      add_stop(stops.down, {place_of(above), class_of_hop(above, below), 1});
    }
  }
  for (Rank rank = 0; rank < parents.size(); ++rank) {
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
  TreeShape shape;
  shape.several_peers = false;
  HopWires wires = view_.wires(NcclAlgorithm::collnet_chain);
  const auto& all = compiler_.nccl()->channels().channels;
  std::vector<Wire> laid;
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    // The switch is on the way to the head of another node.
    const auto& others = all[channel].chains;
    const Rank last = view_.node_of(others.back().front());
    std::vector<Rank> way{(node == last ? others.front() : others.back()).front()};
    const auto& chain = others[node];
    way.insert(way.end(), chain.begin(), chain.end());
    for (std::size_t i = 0; i + 1 < way.size(); ++i) {
      laid.push_back(wires.lay(channel, way[i + 1], way[i]));
      laid.push_back(wires.lay(channel, way[i], way[i + 1]));
    }
  }
  LinkUsers users(wires);
  for (const Wire& wire : laid) {
    users.add(wire);
    kinds_.insert(wire.kind);
  }
  const auto class_of_hop = [&](std::size_t index) {
    return hop_class(laid[index], users, [](ResourceId) { return 1.0; });
  };
  TreeShape::Way& way = shape.ways.emplace_back();
  const std::size_t count = all.front().chains.front().size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    TreePlace place;
    place.children = last ? 0 : 1;
    place.weight = 1;
    place.speed = view_.speed(all.front().chains[node][i]);
    place.up = class_of_hop(2 * i);
    if (!last) place.down = class_of_hop(2 * i + 3);
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
