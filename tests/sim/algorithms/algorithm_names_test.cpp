#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"
#include "sim/base/input_error.h"
#include "tests/support/error_of.h"

namespace collsim {
namespace {

std::string refusal(std::string_view name, const Placement& placement) {
  return test::error_of([&] { return make_plan(Collective::all_reduce, name, placement); });
}

TEST(algorithm_names, an_unknown_name_is_refused_with_those_there_are) {
  const std::string text = refusal("rnig", uniform_placement(4));
  EXPECT_NE(text.find("no all_reduce algorithm 'rnig'"), std::string::npos) << text;
  EXPECT_NE(text.find("double_binary_tree"), std::string::npos) << text;
  EXPECT_NE(text.find("hierarchical:tree"), std::string::npos) << text;
}

TEST(algorithm_names, only_a_composed_algorithm_takes_an_inner_one_and_no_composed_one) {
  const Placement placement = uniform_placement(4, 2);
  EXPECT_NE(refusal("ring:tree", placement), "");
  EXPECT_NE(refusal("hierarchical:hierarchical", placement), "");
  EXPECT_NE(refusal("hierarchical:", placement), "");
  EXPECT_NE(refusal("hierarchical:tree:tree", placement), "");
  EXPECT_EQ(refusal("hierarchical:tree", placement), "");
}

TEST(algorithm_names, a_plan_carries_the_full_name) {
  const Placement placement = uniform_placement(4, 2);
  EXPECT_EQ(make_plan(Collective::all_reduce, "hierarchical", placement).algorithm,
            "hierarchical:ring");
  EXPECT_EQ(make_plan(Collective::all_reduce, "ring", placement).algorithm, "ring");
}

TEST(algorithm_names, hierarchical_refuses_uneven_nodes_and_says_which) {
  const std::string text = refusal("hierarchical", Placement{{0, 0, 1, 1, 1}});
  EXPECT_NE(text.find("rank 0 has 2 ranks, that of rank 2 has 3"), std::string::npos) << text;
}

TEST(algorithm_names, an_empty_plan_is_refused) {
  EXPECT_NE(refusal("ring", Placement{}), "");
  EXPECT_THROW(make_plan(Collective::all_reduce, "ring", uniform_placement(2), 0), InputError);
}

TEST(algorithm_names, ranks_by_node_keeps_the_order_of_first_ranks) {
  // Nodes 5, 2 and 9 appear in this order.
  const Placement placement{{5, 2, 5, 9, 2}};
  EXPECT_EQ(placement.ranks_by_node(), (std::vector<std::vector<Rank>>{{0, 2}, {1, 4}, {3}}));
}

}  // namespace
}  // namespace collsim
