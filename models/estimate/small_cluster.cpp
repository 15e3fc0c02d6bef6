#include "models/estimate/small_cluster.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "models/call/machine_view.h"
#include "models/estimate/node_grid.h"
#include "sim/algorithms/patterns.h"

namespace collsim {

namespace {

bool sits_between_switches(const LinkFault& fault, const Topology& topology) {
  return std::any_of(fault.links.begin(), fault.links.end(), [&](LinkId id) {
    const Link link = topology.link(id);
    return topology.node_of(link.from) < 0 && topology.node_of(link.to) < 0;
  });
}

/// Whether the machine is the same all the time, and its nodes alike but for those that are
/// touched.
bool is_lasting(const MachineFaults& faults, const Topology& topology) {
  const auto late = [](const auto& fault) { return fault.late.value > 0; };
  return instants_of(faults).size() == 1 &&
         std::none_of(faults.links.begin(), faults.links.end(),
                      [&](const LinkFault& fault) {
                        return fault.jitter.value > 0 || sits_between_switches(fault, topology);
                      }) &&
         std::none_of(faults.ranks.begin(), faults.ranks.end(), late) &&
         std::none_of(faults.hosts.begin(), faults.hosts.end(), late);
}

/// Whether a small cluster may be as close to the whole as simulations need it.
bool may_be_close(const CallCompiler& whole) {
  const MachineFaults& faults = whole.spec().faults;
  const bool knows_faults = whole.nccl() != nullptr || faults.empty();
  return knows_faults && is_lasting(faults, whole.topology()) && !whole.topology().takes_detours();
}

/// A node's place in NCCL's two trees over nodes.
class TreeRoles {
 public:
  explicit TreeRoles(Rank nodes) {
    for (const RootedTree& tree : {binary_tree(nodes), second_binary_tree(nodes)}) {
      std::vector<Place>& places = places_.emplace_back(nodes);
      for (Rank node = 0; node < nodes; ++node) {
        if (tree.parent[node]) ++places[*tree.parent[node]].children;
        places[node].root = !tree.parent[node];
      }
      const auto levels = edges_by_level(tree);
      for (std::size_t level = 0; level < levels.size(); ++level) {
        for (const TreeEdge& edge : levels[level]) {
          places[edge.child].depth =
              static_cast<double>(level + 1) / static_cast<double>(levels.size());
        }
      }
    }
  }

  /// How unlike a node's places are to another's in other trees.
  double difference(Rank node, const TreeRoles& others, Rank other) const {
    double sum = 0;
    for (std::size_t tree = 0; tree < places_.size(); ++tree) {
      const Place& one = places_[tree][node];
      const Place& two = others.places_[tree][other];
      sum += std::abs(one.children - two.children) + (one.root == two.root ? 0 : 1) +
             std::abs(one.depth - two.depth) / 4;
    }
    return sum;
  }

 private:
  struct Place {
    double children = 0;
    bool root = false;
    double depth = 0;  // of the deepest leaf's
  };
  std::vector<std::vector<Place>> places_;  // by tree and node
};

/// Which node of the whole stands at each place of the small cluster. Where it spans the whole, its
/// second half is the whole's last nodes, so that some hops go the longest way.
std::vector<Rank> chosen_nodes(Rank nodes, Rank count, const std::set<Rank>& touched, bool spans) {
  const TreeRoles of_whole(nodes);
  const TreeRoles of_small(count);
  std::map<Rank, Rank> placed;  // by place
  for (const Rank node : touched) {
    std::optional<Rank> best;
    for (Rank place = 0; place < count; ++place) {
      if (placed.contains(place)) continue;
      if (!best ||
          of_small.difference(place, of_whole, node) < of_small.difference(*best, of_whole, node)) {
        best = place;
      }
    }
    placed[*best] = node;
  }
  // The neighbours of the first that is touched.
  Rank next = touched.empty() ? 0 : *touched.begin() / count * count;
  next = std::min(next, nodes - count);
  std::set<Rank> used = touched;
  std::vector<Rank> chosen;
  for (Rank place = 0; place < count; ++place) {
    if (const auto found = placed.find(place); found != placed.end()) {
      chosen.push_back(found->second);
      continue;
    }
    if (spans && 2 * place >= count) next = std::max(next, nodes - (count - place));
    while (!used.insert(next).second) next = (next + 1) % nodes;
    chosen.push_back(next);
  }
  return chosen;
}

}  // namespace

Bytes size_for(const CallCompiler& small, Bytes size, Rank ranks) {
  const std::int64_t unit = size_of(small.spec().run.reduction.type).count * small.ranks();
  const double share = static_cast<double>(small.ranks()) / ranks;
  const std::int64_t whole = size.count / unit;
  const auto units = static_cast<std::int64_t>(share * static_cast<double>(whole));
  return Bytes{std::max<std::int64_t>(units, 1) * unit};
}

std::optional<CallSpec> small_cluster(const CallCompiler& whole, Rank ranks, Likeness likeness) {
  if (likeness == Likeness::close && !may_be_close(whole)) return std::nullopt;
  const auto grid = grid_of(whole);
  if (!grid) return std::nullopt;
  const Rank nodes = grid->nodes;
  const Rank per_node = grid->per_node;
  std::set<Rank> touched;
  if (!whole.spec().faults.empty()) touched = touched_nodes(whole);
  Rank count = std::max<Rank>(ranks / per_node, 2);
  while (likeness == Likeness::near && 2 * touched.size() > count) {
    touched.erase(std::prev(touched.end()));
  }
  count = std::max(count, static_cast<Rank>(2 * touched.size()));
  if ((likeness == Likeness::close ? 2 * count : count + 1) > nodes) return std::nullopt;
  std::vector<Rank> kept;
  for (const Rank node : chosen_nodes(nodes, count, touched, whole.nccl() == nullptr)) {
    for (Rank i = 0; i < per_node; ++i) kept.push_back(node * per_node + i);
  }
  CallSpec spec = call_of_ranks(whole.spec(), kept);
  spec.like = whole.nccl();
  return spec;
}

std::vector<Rank> ranks_on(const CallSpec& spec, const std::vector<DeviceId>& gpus) {
  std::map<DeviceId, Rank> rank_of;
  for (Rank rank = 0; rank < spec.gpus.size(); ++rank) rank_of.emplace(spec.gpus[rank], rank);
  std::vector<Rank> ranks;
  ranks.reserve(gpus.size());
  for (const DeviceId gpu : gpus) ranks.push_back(rank_of.at(gpu));
  return ranks;
}

CallSpec call_of_ranks(CallSpec spec, const std::vector<Rank>& kept) {
  std::map<Rank, Rank> places;
  std::vector<DeviceId> gpus;
  for (const Rank rank : kept) {
    places.emplace(rank, static_cast<Rank>(gpus.size()));
    gpus.push_back(spec.gpus[rank]);
  }
  spec.gpus = std::move(gpus);
  const auto root = places.find(spec.root);
  spec.root = root == places.end() ? 0 : root->second;
  std::erase_if(spec.faults.ranks, [&](const auto& fault) { return !places.contains(fault.rank); });
  for (RankFault& fault : spec.faults.ranks) fault.rank = places.at(fault.rank);
  return spec;
}

}  // namespace collsim
