#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/algorithms/registry.h"
#include "sim/base/input_error.h"
#include "sim/plan/checker.h"
#include "sim/plan/steps.h"

namespace collsim {
namespace {

struct Name {
  Collective collective;
  std::string algorithm;
};

std::vector<Name> all_but_all_reduce() {
  std::vector<Name> names;
  for (const Collective collective : all_collectives()) {
    if (collective == Collective::all_reduce) continue;
    for (const auto& algorithm : algorithm_names(collective))
      names.push_back({collective, algorithm});
  }
  return names;
}

std::vector<Rank> rank_counts() {
  std::vector<Rank> counts;
  for (Rank n = 1; n <= 17; ++n) counts.push_back(n);
  counts.push_back(32);
  return counts;
}

class OtherCollectives : public testing::TestWithParam<Name> {};

/// Ranks in nodes of their own, or in one where only an NVSwitch joins them.
Placement placement_for(Collective collective, std::string_view algorithm, Rank ranks) {
  const Placement apart = uniform_placement(ranks);
  return why_unsupported(collective, algorithm, apart) ? uniform_placement(ranks, ranks) : apart;
}

// Every rank count up to 17 with every root where there is one.
TEST_P(OtherCollectives, are_proved) {
  const auto& [collective, algorithm] = GetParam();
  for (const Rank n : rank_counts()) {
    const Rank roots = has_root(collective) && n <= 17 ? n : 1;
    for (Rank root = 0; root < roots; ++root) {
      const Plan plan =
          make_plan(collective, algorithm, placement_for(collective, algorithm, n), 1, root);
      const CheckReport report = check(plan, {.orders = 2, .seed = n});
      ASSERT_TRUE(report.ok()) << n << " ranks, root " << root << "\n"
                               << report.violations.front().text;
    }
  }
}

// Without its last primitive, no rank's program does what it has to.
TEST_P(OtherCollectives, are_not_proved_with_a_primitive_removed) {
  const auto& [collective, algorithm] = GetParam();
  const Plan plan = make_plan(collective, algorithm, placement_for(collective, algorithm, 6), 1, 4);
  int mutants = 0;
  for_each_program(plan.schedule(0), [&](Rank rank, std::uint32_t lane, const auto& program) {
    for (std::size_t i = 0; i < program.size(); ++i) {
      std::vector<Primitive> changed(program.begin(), program.end());
      changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
      Plan mutant = plan;
      mutant.schedules[0] = plan.schedule(0).with_program(rank, lane, changed);
      EXPECT_FALSE(check(mutant, {.orders = 1, .max_violations = 1}).ok())
          << "primitive " << i << " of participant " << rank << ", lane " << lane;
      ++mutants;
    }
  });
  EXPECT_GT(mutants, 0);
}

std::string test_name(const testing::TestParamInfo<Name>& name) {
  return std::string(to_string(name.param.collective)) + "_" + name.param.algorithm;
}

INSTANTIATE_TEST_SUITE_P(all, OtherCollectives, testing::ValuesIn(all_but_all_reduce()), test_name);

std::size_t steps(Collective collective, std::string_view algorithm, Rank ranks) {
  return replay_steps(make_plan(collective, algorithm, placement_for(collective, algorithm, ranks)))
      .size();
}

TEST(other_collectives, take_the_steps_of_the_textbook) {
  EXPECT_EQ(steps(Collective::all_gather, "ring", 8), 7U);
  EXPECT_EQ(steps(Collective::reduce_scatter, "ring", 8), 7U);
  EXPECT_EQ(steps(Collective::all_gather, "one_shot", 8), 1U);
  EXPECT_EQ(steps(Collective::reduce_scatter, "one_shot", 8), 1U);
  // To the switch and from it.
  EXPECT_EQ(steps(Collective::all_gather, "multimem", 8), 2U);
  EXPECT_EQ(steps(Collective::reduce_scatter, "multimem", 8), 2U);
  EXPECT_EQ(steps(Collective::broadcast, "ring", 8), 7U);
  EXPECT_EQ(steps(Collective::broadcast, "tree", 8), 3U);
  EXPECT_EQ(steps(Collective::reduce, "ring", 8), 7U);
  EXPECT_EQ(steps(Collective::reduce, "tree", 9), 4U);
  EXPECT_EQ(steps(Collective::send_recv, "direct", 8), 1U);
  EXPECT_EQ(steps(Collective::gather, "direct", 8), 1U);
  EXPECT_EQ(steps(Collective::scatter, "direct", 8), 7U);
  EXPECT_EQ(steps(Collective::barrier, "dissemination", 9), 4U);
}

TEST(other_collectives, a_root_that_is_no_rank_is_refused) {
  EXPECT_THROW(make_plan(Collective::broadcast, "ring", uniform_placement(4), 1, 4), InputError);
  // Where there is none, it does not count.
  EXPECT_EQ(make_plan(Collective::all_gather, "ring", uniform_placement(4), 1, 4).root, 0U);
}

}  // namespace
}  // namespace collsim
