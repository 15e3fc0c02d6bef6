#include <gtest/gtest.h>

#include "sim/algorithms/registry.h"
#include "sim/base/input_error.h"
#include "sim/plan/steps.h"

namespace collsim {
namespace {

std::vector<Step> replay(std::string_view algorithm, Rank ranks, Rank per_node = 1) {
  return replay_steps(
      make_plan(Collective::all_reduce, algorithm, uniform_placement(ranks, per_node)));
}

std::vector<std::uint64_t> bits_of(const Step& step) {
  std::vector<std::uint64_t> bits;
  for (const Contributions& each : step.buffers) bits.push_back(each.bits);
  return bits;
}

TEST(StepsReplay, a_ring_of_three_by_hand) {
  const auto steps = replay("ring", 3);
  ASSERT_EQ(steps.size(), 4U);  // 2 (N - 1)
  // Step 1: rank r sends chunk r - 1 to r + 1. Bit r is the contribution of rank r.
  EXPECT_EQ(steps[0].phase, "reduce-scatter");
  EXPECT_EQ(bits_of(steps[0]), (std::vector<std::uint64_t>{1, 0b101, 1,  //
                                                           2, 2, 0b011,  //
                                                           0b110, 4, 4}));
  // Step 2: on goes what came; chunk r is complete at rank r.
  EXPECT_EQ(bits_of(steps[1]), (std::vector<std::uint64_t>{7, 0b101, 1,  //
                                                           2, 7, 0b011,  //
                                                           0b110, 4, 7}));
  EXPECT_EQ(steps[2].phase, "all-gather");
  EXPECT_EQ(bits_of(steps[3]), std::vector<std::uint64_t>(9, 7));
}

TEST(StepsReplay, a_message_is_listed_when_it_is_received) {
  // N = 4: 0 -> 2 -> {1, 3}. Both leaves send at once, then 2, then the way back.
  const auto steps = replay("tree", 4);
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].transfers.size(), 2U);
  EXPECT_EQ(steps[1].transfers.size(), 1U);
  EXPECT_EQ(steps[2].transfers.size(), 1U);
  EXPECT_EQ(steps[3].transfers.size(), 2U);
  // A shallow leaf could send at once, but its
  // parent receives both children together. N = 6: 0 -> 4 -> {2, 5}, 2 -> {1, 3}; 5
  // is such a leaf. Its message takes effect in step 2, with that of 2.
  const auto six = replay("tree", 6);
  ASSERT_EQ(six[1].transfers.size(), 2U);
  EXPECT_EQ(six[1].transfers[0].from, 2U);
  EXPECT_EQ(six[1].transfers[1].from, 5U);
}

TEST(StepsReplay, step_counts_are_those_of_the_textbook) {
  EXPECT_EQ(replay("ring", 8).size(), 14U);                       // 2 (N - 1)
  EXPECT_EQ(replay("tree", 8).size(), 6U);                        // 2 log2 N
  EXPECT_EQ(replay("double_binary_tree", 8).size(), 6U);          // 2 log2 N
  EXPECT_EQ(replay("recursive_halving_doubling", 8).size(), 6U);  // 2 log2 N
  EXPECT_EQ(replay("recursive_halving_doubling", 9).size(), 8U);  // and 2 to fold and unfold
  EXPECT_EQ(replay("parameter_server", 8).size(), 2U);
  EXPECT_EQ(replay("all_to_all_broadcast", 8).size(), 1U);
  EXPECT_EQ(replay("hierarchical:ring", 8, 4).size(), 8U);   // 3 + 2 + 3
  EXPECT_EQ(replay("double_binary_tree", 4, 4).size(), 6U);  // a chain: 2 (p - 1)
  EXPECT_TRUE(replay("ring", 1).empty());
}

TEST(StepsReplay, every_algorithm_ends_with_every_contribution_everywhere) {
  for (const std::string& name : algorithm_names(Collective::all_reduce)) {
    for (const Rank n : {2U, 6U, 8U, 12U, 64U}) {
      const auto steps = replay(name, n, 2);
      const std::uint64_t all = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
      for (const Contributions& each : steps.back().buffers) ASSERT_EQ(each.bits, all) << name;
      for (const Step& step : steps) EXPECT_FALSE(step.transfers.empty()) << name << " " << n;
    }
  }
}

TEST(StepsReplay, too_many_ranks_are_refused) {
  EXPECT_THROW(replay("ring", 65), InputError);
}

}  // namespace
}  // namespace collsim
