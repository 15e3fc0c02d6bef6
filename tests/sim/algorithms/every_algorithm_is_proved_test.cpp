#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/plan/checker.h"
#include "tests/support/test_name.h"

namespace collsim {
namespace {

std::vector<Rank> rank_counts() {
  std::vector<Rank> counts;
  for (Rank n = 1; n <= 17; ++n) counts.push_back(n);
  counts.insert(counts.end(), {32, 64, 100});
  return counts;
}

std::string first_sentence(const CheckReport& report) {
  return report.ok() ? "" : report.violations.front().text;
}

class EveryAlgorithm : public testing::TestWithParam<std::string> {};

// Every rank count, evenly full nodes of 1, 2, 4 and 8 and one node of all, every credit depth,
// three orders. What an NVSwitch adds up runs in one node only.
TEST_P(EveryAlgorithm, is_proved_on_even_nodes) {
  for (const Rank n : rank_counts()) {
    int proved = 0;
    for (const Rank per_node : {1U, 2U, 4U, 8U, n}) {
      if (n % per_node != 0) continue;
      const Placement placement = uniform_placement(n, per_node);
      if (why_unsupported(Collective::all_reduce, GetParam(), placement)) continue;
      ++proved;
      const Plan plan = make_plan(Collective::all_reduce, GetParam(), placement);
      const CheckReport report = check(plan, {.seed = n});
      ASSERT_TRUE(report.ok()) << n << " ranks, " << per_node << " per node\n"
                               << first_sentence(report);
    }
    EXPECT_GT(proved, 0) << n << " ranks";
  }
}

TEST_P(EveryAlgorithm, is_proved_on_uneven_and_interleaved_nodes_where_supported) {
  const std::vector<Placement> placements{
      {{0, 0, 0, 1}},                       // 3 and 1
      {{0, 1, 1, 2, 2, 2, 2}},              // 1, 2 and 4
      {{0, 1, 2, 0, 1, 2, 0}},              // round robin, 3, 2 and 2
      {{7, 3, 7, 3}},                       // equal, but interleaved and with far numbers
      {{0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 2}},  // 8, 1 and 2
  };
  for (const Placement& placement : placements) {
    if (why_unsupported(Collective::all_reduce, GetParam(), placement)) continue;
    const CheckReport report = check(make_plan(Collective::all_reduce, GetParam(), placement));
    EXPECT_TRUE(report.ok()) << placement.ranks() << " ranks\n" << first_sentence(report);
  }
}

// Channels share the schedule: it is proved once and the report says for how many.
TEST_P(EveryAlgorithm, is_proved_once_for_all_channels) {
  const bool spans_nodes =
      !why_unsupported(Collective::all_reduce, GetParam(), uniform_placement(6, 2));
  const Placement placement = uniform_placement(6, spans_nodes ? 2 : 6);
  const Plan plan = make_plan(Collective::all_reduce, GetParam(), placement, 4);
  const CheckReport report = check(plan, {.credits = {1, 2}, .orders = 5});
  EXPECT_TRUE(report.ok()) << first_sentence(report);
  EXPECT_EQ(report.schedules, 1U);
  EXPECT_EQ(report.channels, 4U);
  EXPECT_EQ(report.runs, 2U * 5U);
}

TEST_P(EveryAlgorithm, has_nothing_to_do_for_one_rank) {
  const Plan plan = make_plan(Collective::all_reduce, GetParam(), uniform_placement(1));
  for (std::uint32_t lane = 0; lane < plan.schedule(0).lanes(); ++lane) {
    EXPECT_TRUE(plan.schedule(0).program(0, lane).empty());
  }
  EXPECT_GE(plan.schedule(0).chunks(), 1U);
}

INSTANTIATE_TEST_SUITE_P(all_reduce, EveryAlgorithm,
                         testing::ValuesIn(algorithm_names(Collective::all_reduce)),
                         [](const auto& algorithm) { return test::test_name(algorithm.param); });

}  // namespace
}  // namespace collsim
