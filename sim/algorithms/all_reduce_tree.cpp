#include "sim/algorithms/all_reduce.h"

namespace collsim {

// Going up, a level starts at the depth of the deepest tree; all children of a rank send in the
// same step, which is what lets it receive them in one primitive.
void tree_all_reduce(Group& group, std::span<const RootedTree> trees) {
  std::vector<std::vector<std::vector<TreeEdge>>> levels;
  std::size_t depth = 0;
  for (const RootedTree& tree : trees) {
    levels.push_back(edges_by_level(tree));
    depth = std::max(depth, levels.back().size());
  }
  const auto count = static_cast<std::uint32_t>(trees.size());
  group.phase("reduce");
  for (std::size_t d = depth; d-- > 0;) {
    group.step();
    for (std::uint32_t t = 0; t < count; ++t) {
      if (d >= levels[t].size()) continue;
      group.lane(2 * t);
      for (const TreeEdge& edge : levels[t][d]) group.reduce(edge.child, edge.parent, {t, 1});
    }
  }
  group.phase("broadcast");
  for (std::size_t d = 0; d < depth; ++d) {
    group.step();
    for (std::uint32_t t = 0; t < count; ++t) {
      if (d >= levels[t].size()) continue;
      group.lane(2 * t + 1);
      for (const TreeEdge& edge : levels[t][d]) group.copy(edge.parent, edge.child, {t, 1});
    }
  }
}

namespace {

// NCCL's first tree, over ranks instead of nodes: in symmetric order, subtrees are runs of
// consecutive ranks, so that most edges stay inside a node; and its depth is ceil(log2 N).
void emit(Group& group, const Placement& placement, const Algorithm* /*inter*/) {
  const RootedTree tree = binary_tree(placement.ranks());
  tree_all_reduce(group, std::span(&tree, 1));
}

}  // namespace

constexpr Algorithm all_reduce_tree{
    "tree",
    Collective::all_reduce,
    "reduce up and broadcast down one binary tree over all ranks: 2 log2 N steps",
    supports_everything,
    one_chunk,
    emit,
    Growth::all_per_doubling};

}  // namespace collsim
