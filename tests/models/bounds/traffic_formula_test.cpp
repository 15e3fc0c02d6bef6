// A formula says what the plan does: the bytes of every rank and the steps, for every algorithm.

#include "models/bounds/traffic_formula.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

namespace collsim {
namespace {

PlanTraffic traffic_of(const Plan& plan) {
  return counted_traffic(plan, replay_steps(plan));
}

std::string sentence(Collective collective, std::string_view algorithm, Rank ranks,
                     Rank per_node = 1, Rank root = 0) {
  const Placement placement = uniform_placement(ranks, per_node);
  const Plan plan = make_plan(collective, algorithm, placement, 1, root);
  const PlanTraffic traffic = traffic_of(plan);
  const auto formula = traffic_formula(plan, placement, traffic);
  return formula ? sentence_of(*formula, traffic) : counted_words(traffic);
}

// traffic_formula() is there only where it says of every rank what the plan sends, and has a symbol
// for steps only where it says how many the plan has.
TEST(TrafficFormula, holds_for_every_algorithm_of_every_collective) {
  for (const Collective collective : all_collectives()) {
    for (const std::string& name : algorithm_names(collective)) {
      for (Rank ranks = 2; ranks <= 17; ++ranks) {
        for (const Rank per_node : {1U, 2U, 4U}) {
          if (ranks % per_node != 0 || (per_node > 1 && collective != Collective::all_reduce)) {
            continue;
          }
          // An NVSwitch adds up in one node only.
          const Placement apart = uniform_placement(ranks, per_node);
          const bool in_one = why_unsupported(collective, name, apart).has_value();
          const Placement placement = in_one ? uniform_placement(ranks, ranks) : apart;
          for (const Rank root : {0U, ranks - 1}) {
            if (root > 0 && !has_root(collective)) continue;
            const Plan plan = make_plan(collective, name, placement, 1, root);
            const PlanTraffic traffic = traffic_of(plan);
            const auto formula = traffic_formula(plan, placement, traffic);
            const std::string what =
                fmt::format("{} {} {} / {} root {}: {}", to_string(collective), name, ranks,
                            per_node, root, counted_words(traffic));
            ASSERT_TRUE(formula) << what;
            EXPECT_EQ(formula->sent, traffic.sent) << what;
            // Its two trees share a lane there, so that one waits for the other.
            if (name == "hierarchical:double_binary_tree") continue;
            EXPECT_FALSE(formula->steps_symbol.empty()) << what;
            EXPECT_EQ(formula->steps, traffic.steps) << what;
          }
        }
      }
    }
  }
}

// What is counted is bytes: chunks of a loop, so many of which make S.
TEST(TrafficFormula, counts_what_the_programs_send) {
  const Plan plan = make_plan(Collective::all_reduce, "recursive_halving_doubling",
                              uniform_placement(5, 1), 1, 0);
  const Schedule& schedule = plan.schedule(0);
  std::vector<std::uint64_t> chunks(5);
  for_each_program(schedule, [&](Rank rank, std::uint32_t, const Program& program) {
    for (const Primitive& each : program) {
      chunks[rank] += std::uint64_t{each.chunk_count} * schedule.peers(each.send_group).size();
    }
  });
  const PlanTraffic traffic = traffic_of(plan);
  for (Rank rank = 0; rank < 5; ++rank) {
    EXPECT_EQ(traffic.sent[rank], share_of(chunks[rank], schedule.chunks())) << rank;
  }
}

TEST(TrafficFormula, has_the_numbers_put_in) {
  EXPECT_EQ(sentence(Collective::all_reduce, "ring", 4),
            "Each rank sends 2(N-1)/N S = 3/2 S in 2(N-1) = 6 steps");
  // 0 -> 4 -> {2, 6} -> leaves: 7 edges, used up and down; depth 3.
  EXPECT_EQ(sentence(Collective::all_reduce, "tree", 8),
            "A rank sends S to its parent and S to each child, 2(N-1) S = 14 S in all, in "
            "2 ceil(log2 N) = 6 steps");
  // 2 x 3 steps in nodes of 4, 2 between 2 nodes; 2 x 3/4 + 2 x 1/2 / 4 = 7/4.
  EXPECT_EQ(sentence(Collective::all_reduce, "hierarchical", 8, 4),
            "Each rank sends 2(N-1)/N S = 7/4 S in 2(p-1) + 2(M-1) = 8 steps");
  // 4 of 5: 2 x 3/4; 2 log2 4 steps, one before and one after.
  EXPECT_EQ(sentence(Collective::all_reduce, "recursive_halving_doubling", 5),
            "P = 4 ranks send 2(P-1)/P S = 3/2 S each; the other N-P = 1 hand in S and get S back "
            "in 2 log2 P + 2 = 6 steps");
  EXPECT_EQ(sentence(Collective::scatter, "direct", 4, 1, 2),
            "The root sends (N-1)/N S = 3/4 S in N-1 = 3 steps");
  EXPECT_EQ(sentence(Collective::send_recv, "direct", 4), "Each rank sends S in 1 step");
}

// A plan that does otherwise gets no formula: here a ring that bears a tree's name.
TEST(TrafficFormula, is_left_out_where_the_plan_does_otherwise) {
  const Placement placement = uniform_placement(4, 1);
  Plan plan = make_plan(Collective::all_reduce, "ring", placement);
  plan.algorithm = "tree";
  EXPECT_FALSE(traffic_formula(plan, placement, traffic_of(plan)));
  EXPECT_EQ(counted_words(traffic_of(plan)), "Each rank sends 3/2 S");
}

// The server of five sends 4 S, the others S.
TEST(TrafficFormula, counted_figures_name_ranks) {
  const Plan plan = make_plan(Collective::all_reduce, "parameter_server", uniform_placement(5, 1));
  EXPECT_EQ(counted_words(traffic_of(plan)), "Rank 0 sends 4 S; ranks 1..4 send S");
}

}  // namespace
}  // namespace collsim
