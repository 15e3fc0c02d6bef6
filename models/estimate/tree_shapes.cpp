#include "models/estimate/tree_shapes.h"

#include <algorithm>
#include <utility>

#include "models/machine/hop_wires.h"

namespace collsim {

namespace {

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

TreeShapes::TreeShapes(const CallCompiler& compiler, const MachineView& view,
                       std::set<LinkKind>& kinds, KnownTrees* known)
    : compiler_(compiler),
      view_(view),
      kinds_(kinds),
      known_(known != nullptr && lays_as_healthy() ? known : nullptr) {}

/// Whether the same hops are looked at as on the healthy machine, and go where they went.
bool TreeShapes::lays_as_healthy() const {
  if (compiler_.topology().takes_detours()) return false;
  if (view_.has_like_nodes() && compiler_.nccl()->nodes() > window_of_nodes) return false;
  return std::none_of(view_.states().begin(), view_.states().end(),
                      [](const auto& each) { return each.second.avoided; });
}

TreeHops& TreeShapes::hops() {
  if (known_ == nullptr) {
    if (!own_) {
      own_ =
          std::make_unique<TreeHops>(compiler_, view_.states(), view_.ways_of(NcclAlgorithm::tree));
    }
    return *own_;
  }
  if (!known_->hops) {
    known_->compiler = std::make_unique<const CallCompiler>(compiler_.with_faults({}));
    known_->hops = std::make_unique<TreeHops>(*known_->compiler);
  }
  return *known_->hops;
}

/// Since the hops were laid.
void TreeShapes::find_changes() {
  TreeHops& hops = this->hops();
  const LaidWires& wires = hops.wires();
  if (changed_.size() == wires.size()) return;
  const LinkStates states = known_ == nullptr ? LinkStates{} : view_.states();
  changed_ = hops.loads_changed(states);
  capacities_ = hops.capacities(states);
  delays_.assign(wires.resource_count(), 0);
  for (const auto& [link, state] : states) {
    const auto resource = wires.resource_of(link);
    if (resource) delays_[*resource] = state.mean_delay().value;
  }
}

const TreeShapes::Seen& TreeShapes::seen(std::uint32_t channel) {
  const auto [found, added] = seen_.try_emplace(channel);
  Seen& seen = found->second;
  if (!added) return seen;
  const LaidTree& tree = hops().tree(channel, view_);
  const RootedTree& rooted = this->rooted(channel);
  seen.ways = longest_ways(rooted, tree, view_);
  seen.changed.resize(rooted.size());
  for (Rank rank = 0; rank < rooted.size(); ++rank) {
    if (view_.speed(rank) != 1) seen.changed[rank] = true;
    const bool is_laid = tree.up[rank] != LaidWires::none;
    if (!is_laid || !(changed_[tree.up[rank]] || changed_[tree.down[rank]])) continue;
    seen.changed[rank] = true;
    seen.changed[*rooted.parent[rank]] = true;
  }
  return seen;
}

const std::vector<TreeShape>& TreeShapes::trees(const UsedChannels& channels) {
  const auto [found, added] = trees_.try_emplace(channels);
  if (!added) return found->second;
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) {
    const LaidTree& tree = hops().tree(channel, view_);
    kinds_.insert(tree.kinds.begin(), tree.kinds.end());
  }
  find_changes();
  const TreeUse& use = hops().use(channels);
  found->second = unlike_shapes<TreeShape>(
      channels, use.in_step, [&](std::uint32_t channel, const std::vector<std::uint32_t>& in_step) {
        return shape(channel, in_step, use);
      });
  return found->second;
}

/// Of a hop that loads a link that faults change.
HopClass TreeShapes::changed_class(Id hop, const std::vector<std::uint32_t>& in_step,
                                   const TreeUse& use) {
  const TreeHops& hops = this->hops();
  TreeHop now = use.hops[hop];
  const NarrowLinks before = now.narrow;
  now.narrow = narrow_links(hops.wires(), hop, use.users, capacities_);
  if (now.narrow.to_proxy != before.to_proxy) {
    now.together = hops.together_on(*now.narrow.to_proxy, hop, in_step);
  }
  if (now.narrow.network != before.network) {
    now.together_in_network = hops.together_on(*now.narrow.network, hop, in_step);
  }
  HopClass hop_class = use.classes[now.hop_class];
  for (const ResourceId resource : hops.wires().resources(hop)) {
    hop_class.latency += delays_[resource];
  }
  set_shares(hop_class, now, use.users, capacities_);
  return hop_class;
}

/// `in_step`: the channels with the same tree.
TreeShape TreeShapes::shape(std::uint32_t channel, const std::vector<std::uint32_t>& in_step,
                            const TreeUse& use) {
  constexpr std::uint32_t none = ~std::uint32_t{0};
  const TreeHops& hops = this->hops();
  const LaidTree& tree = this->hops().tree(channel, view_);
  const Seen& seen = this->seen(channel);
  const TreePlaces& laid = use.places.at(channel);
  TreeShape shape;
  std::vector<std::uint32_t> places(laid.places.size(), none);  // of those as they were laid
  const auto class_of = [&](Id hop) {
    return changed_[hop] ? changed_class(hop, in_step, use) : use.classes[use.hops[hop].hop_class];
  };
  const auto place_of = [&](Rank rank) {
    if (!seen.changed[rank]) {
      std::uint32_t& place = places[laid.of_rank[rank]];
      if (place == none) place = add_place(shape.places, laid.places[laid.of_rank[rank]]);
      return place;
    }
    TreePlace place = hops.place(channel, rank, class_of);
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
