#include "sim/algorithms/patterns.h"

#include <bit>
#include <cassert>

namespace collsim {

namespace {

// The root's only child is the middle of the next power of two; it has no lowest set bit to go by.
// Any other rank is one below or above its parent's position at twice its own height; where that
// would lie beyond the end, the parent is the next one up on the left.
std::optional<Rank> binary_tree_parent(Rank rank, Rank ranks) {
  if (rank == 0) return std::nullopt;
  const Rank height = rank & (~rank + 1);
  const Rank left_ancestor = rank - height;
  const Rank parent = left_ancestor | (2 * height);
  return parent < ranks ? parent : left_ancestor;
}

}  // namespace

std::vector<std::vector<TreeEdge>> edges_by_level(const RootedTree& tree) {
  std::vector<std::vector<Rank>> children(tree.size());
  std::vector<Rank> level;
  for (Rank rank = 0; rank < tree.size(); ++rank) {
    if (tree.parent[rank]) {
      children[*tree.parent[rank]].push_back(rank);
    } else {
      level.push_back(rank);
    }
  }
  assert(level.size() == 1 && "a rooted tree has one root");
  std::vector<std::vector<TreeEdge>> levels;
  while (true) {
    std::vector<TreeEdge> edges;
    for (const Rank parent : level) {
      for (const Rank child : children[parent]) edges.push_back({parent, child});
    }
    if (edges.empty()) return levels;
    level.clear();
    for (const TreeEdge& edge : edges) level.push_back(edge.child);
    levels.push_back(std::move(edges));
  }
}

RootedTree binary_tree(Rank ranks) {
  RootedTree tree;
  for (Rank rank = 0; rank < ranks; ++rank) tree.parent.push_back(binary_tree_parent(rank, ranks));
  return tree;
}

RootedTree second_binary_tree(Rank ranks) {
  // Where rank r stands in the first tree, and the other way round.
  const bool mirror = ranks % 2 == 0;
  const auto to_first = [&](Rank r) { return mirror ? ranks - 1 - r : ring_prev(r, ranks); };
  const auto from_first = [&](Rank r) { return mirror ? ranks - 1 - r : ring_next(r, ranks); };
  RootedTree tree;
  for (Rank rank = 0; rank < ranks; ++rank) {
    const auto parent = binary_tree_parent(to_first(rank), ranks);
    tree.parent.push_back(parent ? std::optional(from_first(*parent)) : std::nullopt);
  }
  return tree;
}

RootedTree chain_in_nodes(const RootedTree& node_tree, std::span<const std::vector<Rank>> nodes) {
  std::size_t ranks = 0;
  for (const auto& node : nodes) ranks += node.size();
  RootedTree tree;
  tree.parent.resize(ranks);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (const auto parent = node_tree.parent[n]) {
      tree.parent[nodes[n].front()] = nodes[*parent].front();
    }
    for (std::size_t i = 1; i < nodes[n].size(); ++i) tree.parent[nodes[n][i]] = nodes[n][i - 1];
  }
  return tree;
}

PowerOfTwoFold fold_to_power_of_two(Rank ranks) {
  const Rank core = std::bit_floor(ranks);
  return {core, ranks - core};
}

}  // namespace collsim
