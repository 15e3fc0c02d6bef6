#include "sim/base/did_you_mean.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace collsim {
namespace {

const std::vector<std::string> names{"ring", "tree", "double_binary_tree", "hgx-h200",
                                     "hgx-h200-4"};

TEST(DidYouMean, finds_a_name_with_few_wrong_letters) {
  EXPECT_EQ(did_you_mean("rign", names), "did you mean 'ring'?");   // swapped: one edit of four
  EXPECT_EQ(did_you_mean("Rings", names), "did you mean 'ring'?");  // one letter more, another case
  EXPECT_EQ(did_you_mean("hgx-h20", names), "did you mean 'hgx-h200'?");
  EXPECT_EQ(did_you_mean("double_binary", names), "did you mean 'double_binary_tree'?");  // a part
  EXPECT_EQ(did_you_mean("h200", names), "did you mean 'hgx-h200'?");  // the shorter of two
}

TEST(DidYouMean, says_nothing_where_no_name_is_near) {
  EXPECT_EQ(did_you_mean("pony", names), "");  // four edits to ring
  EXPECT_EQ(did_you_mean("", names), "");
  EXPECT_EQ(did_you_mean("x", std::vector<std::string>{"y"}), "");  // all letters wrong
  EXPECT_EQ(did_you_mean(std::string(100'000, 'r'), names), "");
}

TEST(DidYouMean, long_lists_are_left_out_beside_a_suggestion) {
  std::vector<std::string> many(41, "machine");
  many.emplace_back("hgx-h200");
  EXPECT_EQ(names_instead_of("hgx-h20", many), "did you mean 'hgx-h200'?");
  EXPECT_EQ(names_instead_of("rign", std::vector<std::string>{"ring", "tree"}),
            "did you mean 'ring'? All are ring, tree");
  EXPECT_EQ(names_instead_of("pony", std::vector<std::string>{"ring", "tree"}), "ring, tree");
}

}  // namespace
}  // namespace collsim
