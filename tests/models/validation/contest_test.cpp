// Crossovers and regret among recorded ways.

#include "models/validation/contest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace collsim {
namespace {

TimePair pair_of(std::int64_t size, double first, double second) {
  return {Bytes{size}, microseconds(first), microseconds(second)};
}

// Ratios 1/2 at 100 and 2 at 400: in logarithms the middle, 200.
TEST(Crossover, lies_where_the_ratio_is_1) {
  const Crossover crossover = find_crossover({pair_of(100, 1, 2), pair_of(400, 4, 2)});
  EXPECT_TRUE(crossover.first_before);
  EXPECT_FALSE(crossover.first_after);
  EXPECT_NEAR(crossover.size.value(), 200, 1e-9);
}

TEST(Crossover, is_none_where_one_always_leads) {
  const Crossover crossover = find_crossover({pair_of(100, 3, 2), pair_of(400, 5, 4)});
  EXPECT_FALSE(crossover.size);
  EXPECT_FALSE(crossover.first_before);
  EXPECT_FALSE(crossover.first_after);
}

// Changes at 100-200 (noise), 200-400 and 400-800: the last one counts. Ratio 2/1 at 400 and 1/2 at
// 800: 400 * sqrt(2).
TEST(Crossover, is_the_last_of_several) {
  const Crossover crossover = find_crossover(
      {pair_of(100, 2, 1), pair_of(200, 1, 2), pair_of(400, 2, 1), pair_of(800, 1, 2)});
  EXPECT_NEAR(crossover.size.value(), 565.685, 0.01);
  EXPECT_FALSE(crossover.first_before);
  EXPECT_TRUE(crossover.first_after);
}

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
TEST(Contest, regret_is_what_a_choice_loses_to_the_best_measured) {
  const std::vector<ValidatedRow> rows{
      row_of("Ring", 1024, {20, 20, 1}), row_of("Tree", 1024, {10, 15, 2}),
      row_of("Ring", 4096, {20, 20, 1}), row_of("Tree", 4096, {30, 15, 2})};
  const auto all = contests(rows);
  ASSERT_EQ(all.size(), 1U);
  const Contest& contest = all.front();
  EXPECT_EQ(contest.ours.sizes, 2U);
  EXPECT_EQ(contest.ours.best, 1U);
  EXPECT_DOUBLE_EQ(contest.ours.mean, 0.25);
  EXPECT_DOUBLE_EQ(contest.ours.worst, 0.5);
  EXPECT_DOUBLE_EQ(contest.nccl.mean, 0.5);
  EXPECT_DOUBLE_EQ(contest.nccl.worst, 1);
  ASSERT_EQ(contest.pairs.size(), 1U);
  const ContestPair& pair = contest.pairs.front();
  EXPECT_EQ(pair.first, "ring/simple");
  EXPECT_EQ(pair.second, "tree/simple");
  // Ratios 2 at 1 KiB and 2/3 at 4 KiB: 1024 * 4^(ln 2 / ln 3).
  EXPECT_NEAR(pair.measured.size.value(), 2455.6, 0.1);
  EXPECT_FALSE(pair.predicted.size);
  EXPECT_FALSE(pair.predicted.first_before);
  EXPECT_TRUE(pair.nccl.value().first_before);
}

TEST(Contest, needs_forced_ways_of_the_same_collective_and_ranks) {
  ValidatedRow other = row_of("Tree", 1024, {1, 1, 1});
  other.recorded.ranks = 8;
  ValidatedRow free = row_of("Tree", 1024, {1, 1, 1});
  free.recorded.variables.clear();
  EXPECT_TRUE(contests({row_of("Ring", 1024, {1, 1, 1}), other, free}).empty());
}

}  // namespace
}  // namespace collsim
