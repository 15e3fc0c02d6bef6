// Which hosts make runs slow next to their like.

#include "tools/collsim/diagnose/slow_hosts.h"

#include <gtest/gtest.h>

namespace collsim {
namespace {

using Names = std::vector<std::string>;

// A and B are fast together, so C is what slows A-C and B-C.
TEST(SlowHosts, are_those_that_no_fast_run_has) {
  const std::vector<HostRun> runs{{{"a", "b"}, 88}, {{"a", "c"}, 49}, {{"b", "c"}, 50}};
  EXPECT_EQ(slow_runs(runs), (std::vector<bool>{false, true, true}));
  const auto found = slow_hosts(runs);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].hosts, Names{"c"});
  EXPECT_EQ(found[0].runs, (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(found[0].fast, (Names{"a", "b"}));
  EXPECT_EQ(describe(found[0], "a"),
            "c is slow, in 2 slow runs; a, b in those runs are fast with "
            "other hosts");
}

// Nothing else is known of D and E.
TEST(SlowHosts, that_cannot_be_told_apart_are_named_together) {
  const std::vector<HostRun> runs{{{"a", "b"}, 88}, {{"d", "e"}, 49}};
  const auto found = slow_hosts(runs);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].hosts, (Names{"d", "e"}));
  EXPECT_NE(describe(found[0], "a").find("run each of them with a good host, such as a"),
            std::string::npos);
}

// A and C are fast with others: what is between them is not.
TEST(SlowHosts, are_none_where_all_are_fast_with_others) {
  const std::vector<HostRun> runs{{{"a", "b"}, 88}, {{"c", "d"}, 88}, {{"a", "c"}, 49}};
  const auto found = slow_hosts(runs);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].hosts.empty());
  EXPECT_NE(describe(found[0], "b").find("look at the switches between them"), std::string::npos);
}

// The same two hosts at two times: neither of them is what is slow.
TEST(SlowHosts, are_none_where_the_same_ones_were_fast) {
  const auto found = slow_hosts({{{"a", "b"}, 88}, {{"a", "b"}, 49}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].come_and_go);
  EXPECT_NE(describe(found[0], "a").find("comes and goes"), std::string::npos);
}

// 0.95 is below a limit of 0.97.
TEST(SlowHosts, go_by_the_limit) {
  const std::vector<HostRun> runs{{{"a"}, 100}, {{"b"}, 95}};
  EXPECT_TRUE(slow_hosts(runs).empty());
  ASSERT_EQ(slow_hosts(runs, 0.97).size(), 1U);
  EXPECT_EQ(slow_hosts(runs, 0.97)[0].hosts, Names{"b"});
}

// 0.81 of the fastest is within what equal hosts differ by.
TEST(SlowHosts, of_runs_that_are_alike_are_none) {
  EXPECT_TRUE(slow_hosts({{{"a", "b"}, 100}, {{"a", "c"}, 81}, {{"b", "c"}, 90}}).empty());
}

}  // namespace
}  // namespace collsim
