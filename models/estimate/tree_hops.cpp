#include "models/estimate/tree_hops.h"

#include <algorithm>
#include <limits>
#include <span>
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

bool loads(std::span<const ResourceId> resources, ResourceId resource) {
  return std::find(resources.begin(), resources.end(), resource) != resources.end();
}

/// The index of a class among all.
std::uint32_t add_class(const HopClass& hop, std::vector<HopClass>& classes) {
  const auto same = std::find(classes.begin(), classes.end(), hop);
  const auto place = static_cast<std::uint32_t>(same - classes.begin());
  if (same == classes.end()) classes.push_back(hop);
  return place;
}

}  // namespace

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

std::vector<std::vector<Rank>> longest_ways(const RootedTree& tree, const LaidTree& laid,
                                            const MachineView& view) {
  std::set<Rank> leaves;
  for (Rank rank = 0; rank < tree.size() && leaves.empty(); ++rank) {
    if (!tree.parent[rank]) leaves.insert(laid.farthest[rank]);
  }
  for (const Rank rank : view.touched_ranks()) leaves.insert(laid.farthest[rank]);
  // A long chain inside one node may be as far by hops as a short one beyond the network.
  for (Rank rank = 0; !view.has_like_nodes() && rank < tree.size(); ++rank) {
    if (laid.children[rank].empty()) leaves.insert(rank);
  }
  std::vector<std::vector<Rank>> ways;
  for (const Rank leaf : leaves) {
    std::vector<Rank>& way = ways.emplace_back(1, leaf);
    while (tree.parent[way.back()]) way.push_back(*tree.parent[way.back()]);
  }
  return ways;
}

NarrowLinks narrow_links(const LaidWires& wires, LaidWires::Id hop,
                         const std::vector<double>& users, const std::vector<double>& capacities) {
  const auto rate_of = [&](ResourceId resource) { return capacities[resource] / users[resource]; };
  return {narrowest_of(wires.to_proxy(hop), rate_of), narrowest_of(wires.network(hop), rate_of)};
}

void set_shares(HopClass& hop_class, const TreeHop& hop, const std::vector<double>& users,
                const std::vector<double>& capacities) {
  if (const auto narrowest = hop.narrow.network) {
    hop_class.network_capacity = capacities[*narrowest];
    hop_class.network_users = users[*narrowest];
    hop_class.network_others = std::max(0.0, hop_class.network_users - hop.together_in_network);
  }
  if (const auto narrowest = hop.narrow.to_proxy) {
    hop_class.capacity = capacities[*narrowest];
    hop_class.synchronous_users = hop.together;
    hop_class.other_users = users[*narrowest] - hop.together;
  }
}

TreeHops::TreeHops(const CallCompiler& compiler, LinkStates states, KnownWays::OfAlgorithm* known)
    : compiler_(compiler),
      states_(std::move(states)),
      wires_(compiler, NcclAlgorithm::tree, states_, known) {}

const LaidTree& TreeHops::tree(std::uint32_t channel, const MachineView& view) {
  const auto [found, added] = trees_.try_emplace(channel);
  if (added) lay(channel, view, found->second);
  return found->second;
}

void TreeHops::lay(std::uint32_t channel, const MachineView& view, LaidTree& tree) {
  const RootedTree& rooted = compiler_.nccl()->channels().channels[channel].tree;
  tree.children.resize(rooted.size());
  for (Rank rank = 0; rank < rooted.size(); ++rank) {
    if (rooted.parent[rank]) tree.children[*rooted.parent[rank]].push_back(rank);
  }
  tree.farthest = farthest_leaves(rooted, tree.children, view);
  tree.up.assign(rooted.size(), LaidWires::none);
  tree.down = tree.up;
  const auto lay_hops = [&](Rank rank) {
    const auto parent = rooted.parent[rank];
    if (!parent || tree.up[rank] != LaidWires::none) return;
    tree.up[rank] = wires_.lay(channel, rank, *parent);
    tree.down[rank] = wires_.lay(channel, *parent, rank);
    tree.kinds.insert({wires_.hop(tree.up[rank]).kind, wires_.hop(tree.down[rank]).kind});
  };
  for (const auto& way : longest_ways(rooted, tree, view)) {
    for (const Rank rank : way) lay_hops(rank);
  }
  for (Rank rank = 0; rank < rooted.size(); ++rank) {
    if (rooted.parent[rank] && view.shows_hop(rank, *rooted.parent[rank])) lay_hops(rank);
  }
}

std::vector<double> TreeHops::capacities(const LinkStates& faults) {
  LinkStates all = states_;
  for (const auto& [link, state] : faults) all[link] = state;
  return wires_.capacities(all);
}

bool TreeHops::goes_up(Id hop) const {
  const LaidWires::Hop& laid = wires_.hop(hop);
  return parents(laid.channel)[laid.from] == laid.to;
}

std::vector<LaidWires::Id> TreeHops::siblings(const std::vector<std::uint32_t>& in_step,
                                              Rank parent, bool up) const {
  std::vector<Id> hops;
  for (const std::uint32_t channel : in_step) {
    const LaidTree& tree = trees_.at(channel);
    for (const Rank child : tree.children[parent]) {
      const Id hop = up ? tree.up[child] : tree.down[child];
      if (hop != LaidWires::none) hops.push_back(hop);
    }
  }
  return hops;
}

double TreeHops::together_on(ResourceId resource, Id hop,
                             const std::vector<std::uint32_t>& in_step) const {
  const LaidWires::Hop& laid = wires_.hop(hop);
  const bool up = goes_up(hop);
  const std::vector<Id> all = siblings(in_step, up ? laid.to : laid.from, up);
  return static_cast<double>(std::count_if(
      all.begin(), all.end(), [&](Id each) { return loads(wires_.resources(each), resource); }));
}

TreeHops::Counts TreeHops::count(const UsedChannels& channels, TreeUse& use) {
  Counts counts{std::vector<double>(compiler_.ranks()), std::vector<double>(compiler_.ranks()),
                capacities({}), std::vector<std::uint32_t>(wires_.resource_count())};
  use.users.resize(wires_.resource_count());
  use.hops.resize(wires_.size());
  for (Id hop = 0; hop < wires_.size(); ++hop) {
    const LaidWires::Hop& laid = wires_.hop(hop);
    if (laid.channel >= channels.count) continue;
    for (const ResourceId resource : wires_.resources(hop)) {
      use.users[resource] += channels.weight(laid.channel);
    }
    if (wires_.network(hop).empty()) continue;
    ++counts.sends[laid.from];
    ++counts.receives[laid.to];
  }
  return counts;
}

const TreeUse& TreeHops::use(const UsedChannels& channels) {
  const auto [found, added] = uses_.try_emplace(channels);
  TreeUse& use = found->second;
  if (!added) return use;
  Counts counts = count(channels, use);
  use.in_step =
      channels_in_step(channels.count, [&](std::uint32_t channel) { return parents(channel); });
  for (const std::vector<std::uint32_t>& in_step : use.in_step) {
    for (Rank rank = 0; rank < compiler_.ranks(); ++rank) {
      for (const bool up : {true, false}) add_classes(siblings(in_step, rank, up), counts, use);
    }
  }
  for (std::uint32_t channel = 0; channel < channels.count; ++channel) {
    if (channels.weight(channel) == 1) add_places(channel, use);
  }
  return use;
}

TreePlace TreeHops::place(std::uint32_t channel, Rank rank,
                          const std::function<HopClass(Id)>& class_of) const {
  const LaidTree& tree = trees_.at(channel);
  TreePlace place;
  place.children = static_cast<std::uint32_t>(tree.children[rank].size());
  place.root = !parents(channel)[rank];
  if (!place.root) {
    place.up = class_of(tree.up[rank]);
    place.slowest = std::max(place.up.kind, wires_.hop(tree.down[rank]).kind);
  }
  for (const Rank child : tree.children[rank]) {
    if (tree.down[child] == LaidWires::none) continue;
    const HopClass down = class_of(tree.down[child]);
    place.slowest = std::max({place.slowest, down.kind, wires_.hop(tree.up[child]).kind});
    if (place.down.capacity == 0 || down.share(1) < place.down.share(1)) place.down = down;
  }
  return place;
}

void TreeHops::add_places(std::uint32_t channel, TreeUse& use) const {
  const LaidTree& tree = trees_.at(channel);
  TreePlaces& all = use.places[channel];
  all.of_rank.resize(compiler_.ranks());
  const auto class_of = [&](Id hop) { return use.classes[use.hops[hop].hop_class]; };
  for (Rank rank = 0; rank < compiler_.ranks(); ++rank) {
    if (parents(channel)[rank] && tree.up[rank] == LaidWires::none) continue;
    all.of_rank[rank] = add_place(all.places, place(channel, rank, class_of));
  }
}

/// But for what links carry.
HopClass TreeHops::class_alone(Id hop, const std::vector<Id>& siblings,
                               const Counts& counts) const {
  const LaidWires::Hop& laid = wires_.hop(hop);
  HopClass hop_class;
  hop_class.kind = laid.kind;
  hop_class.latency = laid.latency;
  hop_class.capacity = std::numeric_limits<double>::infinity();
  if (wires_.network(hop).empty()) return hop_class;
  hop_class.network_capacity = std::numeric_limits<double>::infinity();
  hop_class.network_users = 1;
  hop_class.sends = counts.sends[laid.from];
  hop_class.receives = counts.receives[laid.to];
  if (goes_up(hop)) return hop_class;
  hop_class.before =
      static_cast<double>(std::count_if(siblings.begin(), siblings.end(), [&](Id other) {
        return other != hop && wires_.hop(other).channel == laid.channel &&
               !wires_.network(other).empty();
      }));
  return hop_class;
}

void TreeHops::add_classes(const std::vector<Id>& siblings, Counts& counts, TreeUse& use) const {
  for (const Id hop : siblings) {
    for (const ResourceId resource : wires_.to_proxy(hop)) ++counts.together[resource];
    for (const ResourceId resource : wires_.network(hop)) {
      if (!loads(wires_.to_proxy(hop), resource)) ++counts.together[resource];
    }
  }
  for (const Id hop : siblings) {
    TreeHop& found = use.hops[hop];
    found.narrow = narrow_links(wires_, hop, use.users, counts.capacities);
    if (found.narrow.to_proxy) found.together = counts.together[*found.narrow.to_proxy];
    if (found.narrow.network) found.together_in_network = counts.together[*found.narrow.network];
    HopClass hop_class = class_alone(hop, siblings, counts);
    set_shares(hop_class, found, use.users, counts.capacities);
    found.hop_class = add_class(hop_class, use.classes);
  }
  for (const Id hop : siblings) {
    for (const ResourceId resource : wires_.resources(hop)) counts.together[resource] = 0;
  }
}

}  // namespace collsim
