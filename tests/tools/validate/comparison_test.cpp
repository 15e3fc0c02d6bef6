// Crossovers and regret among recorded ways.

#include "tools/collsim/validate/comparison.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace collsim {
namespace {

struct Figures {
  double measured, predicted, nccl;
};

ValidatedRow row_of(const std::string& algorithm, std::int64_t size, const Figures& figures) {
  ValidatedRow row;
  row.recorded.collective = Collective::all_reduce;
  row.recorded.ranks = 4;
  row.recorded.variables = {{"NCCL_ALGO", algorithm}, {"NCCL_PROTO", "Simple"}};
  row.recorded.size.count = size;
  row.recorded.time = microseconds(figures.measured);
  row.predicted = microseconds(figures.predicted);
  row.nccl_estimate = microseconds(figures.nccl);
  return row;
}

// At 1 KiB the tree is best (10 against 20 us): we say so, NCCL's estimates say ring, which loses
// 100 %. At 4 KiB the ring is best (20 against 30): we say tree and lose 50 %, NCCL says ring.
TEST(Comparison, regret_is_what_a_choice_loses_to_the_best_measured) {
  const std::vector<ValidatedRow> rows{
      row_of("Ring", 1024, {20, 20, 1}), row_of("Tree", 1024, {10, 15, 2}),
      row_of("Ring", 4096, {20, 20, 1}), row_of("Tree", 4096, {30, 15, 2})};
  const auto all = comparisons(rows);
  ASSERT_EQ(all.size(), 1U);
  const Comparison& comparison = all.front();
  EXPECT_EQ(comparison.ours.sizes, 2U);
  EXPECT_EQ(comparison.ours.best, 1U);
  EXPECT_DOUBLE_EQ(comparison.ours.mean, 0.25);
  EXPECT_DOUBLE_EQ(comparison.ours.worst, 0.5);
  EXPECT_DOUBLE_EQ(comparison.nccl.mean, 0.5);
  EXPECT_DOUBLE_EQ(comparison.nccl.worst, 1);
  ASSERT_EQ(comparison.pairs.size(), 1U);
  const ComparisonPair& pair = comparison.pairs.front();
  EXPECT_EQ(pair.first, "ring/simple");
  EXPECT_EQ(pair.second, "tree/simple");
  // Ratios 2 at 1 KiB and 2/3 at 4 KiB: 1024 * 4^(ln 2 / ln 3).
  EXPECT_NEAR(pair.measured.size.value(), 2455.6, 0.1);
  EXPECT_FALSE(pair.predicted.size);
  EXPECT_FALSE(pair.predicted.first_before);
  EXPECT_TRUE(pair.nccl.value().first_before);
}

// An estimate of 0 is none: half of nothing is no size.
TEST(Comparison, has_no_crossover_of_estimates_that_are_zero) {
  const auto all =
      comparisons({row_of("Ring", 1024, {20, 20, 0}), row_of("Tree", 1024, {10, 15, 0}),
                   row_of("Ring", 4096, {20, 20, 0}), row_of("Tree", 4096, {30, 15, 0})});
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all.front().pairs.size(), 1U);
  EXPECT_FALSE(all.front().pairs.front().nccl);
  EXPECT_EQ(all.front().nccl.sizes, 0U);
}

TEST(Comparison, needs_forced_ways_of_the_same_collective_and_ranks) {
  ValidatedRow other = row_of("Tree", 1024, {1, 1, 1});
  other.recorded.ranks = 8;
  ValidatedRow free = row_of("Tree", 1024, {1, 1, 1});
  free.recorded.variables.clear();
  EXPECT_TRUE(comparisons({row_of("Ring", 1024, {1, 1, 1}), other, free}).empty());
}

}  // namespace
}  // namespace collsim
