#include <gtest/gtest.h>

#include <algorithm>

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
  EXPECT_EQ(replay("one_shot", 8).size(), 1U);
  EXPECT_EQ(replay("two_shot", 8).size(), 2U);
  EXPECT_EQ(replay("multimem_two_shot", 8, 8).size(), 4U);   // to the switch and back, twice
  EXPECT_EQ(replay("hierarchical:ring", 8, 4).size(), 8U);   // 3 + 2 + 3
  EXPECT_EQ(replay("double_binary_tree", 4, 4).size(), 6U);  // a chain: 2 (p - 1)
  EXPECT_TRUE(replay("ring", 1).empty());
}

TEST(StepsReplay, every_algorithm_ends_with_every_contribution_everywhere) {
  for (const std::string& name : algorithm_names(Collective::all_reduce)) {
    for (const Rank n : {2U, 6U, 8U, 12U, 64U}) {
      const bool apart = !why_unsupported(Collective::all_reduce, name, uniform_placement(n, 2));
      const auto steps = replay(name, n, apart ? 2 : n);
      const std::uint64_t all = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
      const auto& held = steps.back().buffers;
      const auto of_ranks = static_cast<std::ptrdiff_t>(held.size() / (apart ? n : n + 1) * n);
      EXPECT_TRUE(std::all_of(held.begin(), held.begin() + of_ranks,
                              [&](const Contributions& each) { return each.bits == all; }))
          << name << " " << n;
      for (const Step& step : steps) EXPECT_FALSE(step.transfers.empty()) << name << " " << n;
    }
  }
}

// Ring of 3, chunk 0: 1 -> 2 in step 1: 3 + 2; 2 -> 0 in step 2: 1 + 5.
TEST(StepsReplay, numbers_are_added_as_the_plan_adds) {
  const auto steps = replay("ring", 3);
  const StepTransfer& first = steps[0].transfers[1];
  EXPECT_EQ(first.from, 1U);
  EXPECT_EQ(first.had, std::vector<std::int32_t>{3});
  EXPECT_EQ(first.came, std::vector<std::int32_t>{2});
  const StepTransfer& second = steps[1].transfers[2];
  EXPECT_EQ(second.to, 0U);
  EXPECT_EQ(second.had, std::vector<std::int32_t>{1});
  EXPECT_EQ(second.came, std::vector<std::int32_t>{5});
  EXPECT_EQ(steps[3].values, std::vector<std::int32_t>(9, 6));
}

// Rank 2 of a tree of 4 gets 2 of rank 1 and 4 of rank 3: 3 + 2 = 5, 5 + 4 = 9.
TEST(StepsReplay, several_messages_are_added_in_the_order_in_which_they_are_listed) {
  const auto steps = replay("tree", 4);
  EXPECT_EQ(steps[0].transfers[0].had, std::vector<std::int32_t>{3});
  EXPECT_EQ(steps[0].transfers[0].came, std::vector<std::int32_t>{2});
  EXPECT_EQ(steps[0].transfers[1].had, std::vector<std::int32_t>{5});
  EXPECT_EQ(steps[0].transfers[1].came, std::vector<std::int32_t>{4});
}

TEST(StepsReplay, numbers_end_as_the_collective_promises) {
  for (const Collective collective : all_collectives()) {
    if (sizes_held(collective, 2) == 0) continue;  // a barrier adds nothing up
    for (const std::string& name : algorithm_names(collective)) {
      for (const Rank n : {2U, 3U, 6U, 8U, 13U}) {
        const bool apart = !why_unsupported(collective, name, uniform_placement(n, 1));
        const Plan plan =
            make_plan(collective, name, uniform_placement(n, apart ? 1 : n), 1, n - 1);
        const auto steps = replay_steps(plan);
        EXPECT_EQ(wrong_value(plan, 0, steps.back().values), std::nullopt) << name << " " << n;
        // Any other number is found, wherever something is promised.
        const std::size_t of_ranks = std::size_t{n} * plan.schedule(0).chunks();
        for (std::size_t i = 0; i < of_ranks; ++i) {
          auto values = steps.back().values;
          values[i] += 1;
          const auto chunk = static_cast<std::uint32_t>(i % plan.schedule(0).chunks());
          const auto rank = static_cast<Rank>(i / plan.schedule(0).chunks());
          const std::uint32_t per_block = plan.schedule(0).chunks() / blocks(collective, n);
          const bool promised =
              held_after(collective, n, plan.root, rank, chunk / per_block).kind !=
              Holding::Kind::anything;
          EXPECT_EQ(wrong_value(plan, 0, values).has_value(), promised) << name << " " << i;
        }
      }
    }
  }
}

// 1 + 2 + 3 + 4 = 10.
TEST(StepsReplay, says_which_number_is_wrong) {
  const Plan plan = make_plan(Collective::all_reduce, "parameter_server", uniform_placement(4, 1));
  EXPECT_EQ(wrong_value(plan, 0, std::vector<std::int32_t>{10, 10, 7, 10}),
            "rank 2 has 7 in chunk 0, not 10");
}

TEST(StepsReplay, too_many_ranks_are_refused) {
  EXPECT_THROW(replay("ring", 65), InputError);
}

}  // namespace
}  // namespace collsim
