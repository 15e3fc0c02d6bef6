#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "sim/algorithms/patterns.h"

namespace collsim {
namespace {

std::vector<std::vector<Rank>> children_of(const RootedTree& tree) {
  std::vector<std::vector<Rank>> children(tree.size());
  for (Rank rank = 0; rank < tree.size(); ++rank) {
    if (tree.parent[rank]) children[*tree.parent[rank]].push_back(rank);
  }
  return children;
}

constexpr Rank most = 1024;

TEST(tree_patterns, five_ranks_by_hand) {
  // Height = lowest set bit: 1, 3 are leaves, 2 has both, 4 is the middle of 8 >= 5, hence the
  // root's child; 2's parent is 0 + 4.
  //        0
  //        4
  //      2
  //     1 3
  const RootedTree tree = binary_tree(5);
  EXPECT_EQ(tree.parent, (std::vector<std::optional<Rank>>{std::nullopt, 2, 4, 2, 0}));
  // Shifted by one: r acts as r - 1 does.
  const RootedTree second = second_binary_tree(5);
  EXPECT_EQ(second.parent, (std::vector<std::optional<Rank>>{1, std::nullopt, 3, 0, 3}));
}

TEST(tree_patterns, six_ranks_by_hand) {
  // 5's parent would be 4 + 2 = 6, which is not there; the next on its left is 4.
  const RootedTree tree = binary_tree(6);
  EXPECT_EQ(tree.parent, (std::vector<std::optional<Rank>>{std::nullopt, 2, 4, 2, 0, 4}));
  // Mirrored: r acts as 5 - r does.
  const RootedTree second = second_binary_tree(6);
  EXPECT_EQ(second.parent, (std::vector<std::optional<Rank>>{1, 5, 3, 1, 3, std::nullopt}));
}

// NCCL states the children, not only the parents: with L the lowest set bit of r, the left child is
// r - L/2 and the right one r + k for the largest k among L/2, L/4, ..., 1 with r + k < N. The
// root's only child is half of the smallest power of two that is N or more.
TEST(tree_patterns, children_follow_the_rule_of_nccl) {
  for (Rank n = 2; n <= most; ++n) {
    const auto children = children_of(binary_tree(n));
    ASSERT_EQ(children[0], std::vector<Rank>{std::bit_ceil(n) / 2}) << n;
    for (Rank r = 1; r < n; ++r) {
      std::vector<Rank> expected;
      const Rank lowest = r & (~r + 1);
      if (lowest > 1) expected.push_back(r - lowest / 2);
      Rank k = lowest / 2;
      while (k > 0 && r + k >= n) k /= 2;
      if (k > 0) expected.push_back(r + k);
      ASSERT_EQ(children[r], expected) << "rank " << r << " of " << n;
    }
  }
}

TEST(tree_patterns, both_trees_are_as_deep_as_log2_rounded_up) {
  for (Rank n = 1; n <= most; ++n) {
    const auto depth = static_cast<std::size_t>(std::bit_width(n - 1));  // ceil(log2 n)
    ASSERT_EQ(edges_by_level(binary_tree(n)).size(), depth) << n;
    ASSERT_EQ(edges_by_level(second_binary_tree(n)).size(), depth) << n;
  }
}

// What the pair is for: who forwards in one tree only receives in the other. With odd N rank 0 may
// be in both.
TEST(tree_patterns, nobody_is_interior_in_both_trees) {
  for (Rank n = 2; n <= most; ++n) {
    const auto first = children_of(binary_tree(n));
    const auto second = children_of(second_binary_tree(n));
    for (Rank r = n % 2; r < n; ++r) {
      ASSERT_TRUE(first[r].empty() || second[r].empty()) << "rank " << r << " of " << n;
    }
  }
}

TEST(tree_patterns, edges_reach_every_rank_once_from_a_rank_of_the_level_above) {
  for (Rank n = 1; n <= 100; ++n) {
    std::set<Rank> above{0};
    std::size_t edges = 0;
    for (const auto& level : edges_by_level(binary_tree(n))) {
      std::set<Rank> here;
      for (const TreeEdge& edge : level) {
        ASSERT_TRUE(above.contains(edge.parent)) << n;
        ASSERT_TRUE(here.insert(edge.child).second) << n;
      }
      edges += level.size();
      above = here;
    }
    ASSERT_EQ(edges, n - 1);
  }
}

TEST(tree_patterns, chains_hang_below_the_first_rank_of_their_node) {
  // Nodes {0, 1, 2} and {3, 4}; the tree over two nodes is 0 -> 1.
  const std::vector<std::vector<Rank>> nodes{{0, 1, 2}, {3, 4}};
  const RootedTree tree = chain_in_nodes(binary_tree(2), nodes);
  EXPECT_EQ(tree.parent, (std::vector<std::optional<Rank>>{std::nullopt, 0, 1, 0, 3}));
}

TEST(tree_patterns, a_fold_maps_the_core_to_distinct_ranks) {
  for (Rank n = 1; n <= most; ++n) {
    const PowerOfTwoFold fold = fold_to_power_of_two(n);
    ASSERT_TRUE(std::has_single_bit(fold.core) && fold.core <= n && 2 * fold.core > n);
    std::set<Rank> ranks;
    for (Rank i = 0; i < fold.core; ++i) ranks.insert(fold.rank_of(i));
    for (Rank i = 0; i < fold.excess; ++i) ranks.insert(2 * i + 1);  // those folded away
    ASSERT_EQ(ranks.size(), n);
    ASSERT_EQ(*ranks.rbegin(), n - 1);
  }
}

}  // namespace
}  // namespace collsim
