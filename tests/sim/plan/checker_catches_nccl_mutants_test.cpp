#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/nccl/nccl_plan.h"
#include "sim/nccl/nccl_point_to_point.h"
#include "sim/plan/checker.h"
#include "tests/support/nccl_channels.h"

namespace collsim {
namespace {

bool is_caught(const Plan& plan, Rank rank, std::uint32_t lane,
               const std::vector<Primitive>& changed) {
  Plan mutant = plan;
  mutant.schedules[0] = plan.schedules[0].with_program(rank, lane, changed);
  const std::vector<std::uint32_t> credits{std::max(plan.min_credits, 2U), 8};
  return !check(mutant, {.credits = credits, .orders = 1, .max_violations = 1}).ok();
}

/// Every primitive of the first schedule removed, repeated, or made to store what it must not or
/// not to store what it must. Returns the number of mutants.
int expect_all_caught(const Plan& plan) {
  int mutants = 0;
  const Schedule& schedule = plan.schedules[0];
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(); ++lane) {
      const auto program = schedule.program(rank, lane);
      const std::vector<Primitive> original(program.begin(), program.end());
      for (std::size_t i = 0; i < original.size(); ++i) {
        const auto at = static_cast<std::ptrdiff_t>(i);
        auto removed = original;
        removed.erase(removed.begin() + at);
        EXPECT_TRUE(is_caught(plan, rank, lane, removed)) << "removed " << i << " of " << rank;
        auto repeated = original;
        repeated.insert(repeated.begin() + at, original[i]);
        EXPECT_TRUE(is_caught(plan, rank, lane, repeated)) << "repeated " << i << " of " << rank;
        mutants += 2;
        if (original[i].kind != PrimitiveKind::recv_reduce_copy_send) continue;
        auto unstored = original;
        unstored[i].kind = PrimitiveKind::recv_reduce_send;
        EXPECT_TRUE(is_caught(plan, rank, lane, unstored)) << "unstored " << i << " of " << rank;
        ++mutants;
      }
    }
  }
  return mutants;
}

// 5 ranks: 5 x 9 primitives of which 5 store a sum and send it on; 5 + 4 in the tree's programs,
// one fused; 5 x 5 in a gathering ring and a scattering one; 5 in a pipeline.
TEST(CheckerNcclMutation, every_primitive_matters) {
  const NcclChannels channels = test::random_channels(5, 1, 7);
  const auto plan = [&](Collective collective, NcclAlgorithm algorithm) {
    return make_nccl_plan(collective, algorithm, channels, 1, 3);
  };
  EXPECT_EQ(expect_all_caught(plan(Collective::all_reduce, NcclAlgorithm::ring)), 2 * 45 + 5);
  EXPECT_EQ(expect_all_caught(plan(Collective::all_reduce, NcclAlgorithm::tree)), 2 * 9 + 1);
  EXPECT_EQ(expect_all_caught(plan(Collective::all_gather, NcclAlgorithm::ring)), 2 * 25);
  EXPECT_EQ(expect_all_caught(plan(Collective::reduce_scatter, NcclAlgorithm::ring)), 2 * 25);
  EXPECT_EQ(expect_all_caught(plan(Collective::broadcast, NcclAlgorithm::ring)), 2 * 5);
  EXPECT_EQ(expect_all_caught(plan(Collective::reduce, NcclAlgorithm::ring)), 2 * 5);
}

// 2 nodes of 2 ranks, so 2 stripes, programs of ranks and of switches:
// - nvls all_reduce: per stripe and node 2 scatter, 1 sum in the switch, head up and down, 1
//   multicast, 2 gather, and 1 in the network per stripe: 2 x (2 x 8 + 1) = 34.
// - nvls all_gather: per stripe and node 1 send to the network, 1 to the switch, 1 from the network
//   to the switch; 2 x multicast and 4 gather; 2 in the network per stripe: 2 x (2 x 9 + 2) = 40.
// - nvls reduce_scatter: 2 x (2 scatter, 1 sum, 1 head up), 1 receive; 2 in the network: 40.
// - nvls_tree: the root head 1 where the other has 2: 2 x (2 x 6 + 3) = 30.
// - collnet_direct all_reduce: per stripe and node 1 scatter, head up and down, 1 gather; 1 in the
//   network: 2 x (2 x 4 + 1) = 18. all_gather: head 3, gather 2; 2 in the network: 24.
//   reduce_scatter: 2 x (1 scatter, 1 up), 1 receive; 2 in the network: 24.
// - collnet_chain: 2 each, 1 in the network: 9.
TEST(CheckerNcclMutation, every_primitive_of_ranks_and_switches_matters) {
  const NcclChannels channels = test::node_channels(2, 2, 1);
  const auto mutants = [&](Collective collective, NcclAlgorithm algorithm) {
    return expect_all_caught(make_nccl_plan(collective, algorithm, channels, 1));
  };
  using enum NcclAlgorithm;
  EXPECT_EQ(mutants(Collective::all_reduce, nvls), 2 * 34);
  EXPECT_EQ(mutants(Collective::all_gather, nvls), 2 * 40);
  EXPECT_EQ(mutants(Collective::reduce_scatter, nvls), 2 * 40);
  EXPECT_EQ(mutants(Collective::all_reduce, nvls_tree), 2 * 30);
  EXPECT_EQ(mutants(Collective::all_reduce, collnet_direct), 2 * 18);
  EXPECT_EQ(mutants(Collective::all_gather, collnet_direct), 2 * 24);
  EXPECT_EQ(mutants(Collective::reduce_scatter, collnet_direct), 2 * 24);
  EXPECT_EQ(mutants(Collective::all_reduce, collnet_chain), 2 * 9);
}

// 5 ranks, each once at every offset of a tree.
TEST(CheckerNcclMutation, every_primitive_of_parallel_trees_matters) {
  const NcclChannels channels = test::node_channels(5, 1, 1);
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter}) {
    EXPECT_EQ(expect_all_caught(make_nccl_plan(collective, NcclAlgorithm::pat, channels, 1)),
              2 * 25);
  }
}

// An exchange of 4 on one channel: 12 messages, a send and a receive each.
TEST(CheckerNcclMutation, every_send_and_receive_matters) {
  EXPECT_EQ(expect_all_caught(make_nccl_point_to_point_plan(Collective::all_to_all,
                                                            uniform_placement(4, 4), 1, 1)),
            2 * 24);
}

}  // namespace
}  // namespace collsim
