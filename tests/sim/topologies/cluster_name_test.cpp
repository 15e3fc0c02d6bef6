#include "sim/topologies/cluster_name.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/error_of.h"

namespace collsim {
namespace {

TEST(ClusterName, is_a_node_and_a_count) {
  const auto six = parse_cluster_name("dgx-h100-x6");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->node, "dgx-h100");
  EXPECT_EQ(six->nodes, 6U);
  // The last -x counts.
  EXPECT_EQ(parse_cluster_name("a-x2-x3")->node, "a-x2");
}

TEST(ClusterName, has_a_whole_positive_count) {
  for (const char* name : {"", "x2", "-x2", "dgx-h100", "dgx-h100-x", "dgx-h100-x0", "dgx-h100-x-2",
                           "dgx-h100-x2-1", "dgx-h100-x1048577", "dgx-h100-x99999999999"}) {
    EXPECT_FALSE(parse_cluster_name(name)) << name;
  }
}

// topologies/dgx-h100-x4.yaml, x16, x64 and others; hgx-h200.yaml is one machine.
TEST(ClusterName, has_a_smallest_shipped_cluster) {
  EXPECT_EQ(shipped_cluster("dgx-h100"), "dgx-h100-x4");
  EXPECT_EQ(shipped_cluster("hgx-h200"), "hgx-h200");
  EXPECT_FALSE(shipped_cluster("dgx-h101"));
}

TEST(ClusterName, is_found_where_no_file_has_it) {
  EXPECT_EQ(find_machine("dgx-h100-x6"), "dgx-h100-x6");
  EXPECT_EQ(find_machine("gcp-a3-ultra-x2"), "gcp-a3-ultra-x2");  // its nodes are dgx-h200's
  EXPECT_EQ(find_machine("dgx-h200"), "dgx-h200");                // a node template alone
  EXPECT_FALSE(names_unwritten_cluster("dgx-h100-x4"));           // a shipped file
  EXPECT_TRUE(find_machine("dgx-h100-x4").is_absolute());
  EXPECT_NE(test::error_of([] { return find_machine("dgx-h101-x6"); }), "");  // no such node
  EXPECT_NE(test::error_of([] { return find_machine("folder/dgx-h100-x6"); }), "");
}

}  // namespace
}  // namespace collsim
