// The closed forms, the critical path and the bounds against the simulation of the same call.

#include "models/bounds/estimate.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/bounds/bounds.h"
#include "sim/algorithms/registry.h"
#include "sim/execution/executor.h"
#include "sim/fabric/engine.h"
#include "tests/support/machines.h"

namespace collsim {
namespace {

constexpr BytesPerSecond link_rate = gigabytes_per_second(20);
constexpr Seconds alpha = microseconds(2);

const std::vector<std::string> names{
    "ring",
    "tree",
    "double_binary_tree",
    "parameter_server",
    "one_shot",
    "two_shot",
    "recursive_halving_doubling",
    "hierarchical",
    "hierarchical:tree",
    "hierarchical:recursive_halving_doubling",
};

struct Call {
  Plan plan;
  Placement placement;
  DataPartition partition;
  Wiring wiring;
  Calibration cost;

  double simulated() const {
    const auto fabric = make_fabric(Engine::native);
    return execute({plan, partition, wiring, cost, Protocol::simple}, *fabric).time.value;
  }
  ModelFloor floor() const { return model_floor(plan, partition, wiring, cost, Protocol::simple); }
  Estimate estimated() const {
    return estimate(plan, placement, partition, wiring, cost, Protocol::simple, floor());
  }
};

Call make_call(const std::string& name, Rank ranks, Rank per_node, bool private_links, Bytes size,
               const Chunking& chunking = {}) {
  const Placement placement = uniform_placement(ranks, per_node);
  const Plan plan = make_plan(Collective::all_reduce, name, placement);
  const DataPartition partition(plan, size, Bytes{4}, chunking);
  const Wiring wiring = private_links ? test::private_wiring(plan, link_rate, alpha)
                                      : test::switch_wiring(plan, link_rate, alpha);
  return {plan, placement, partition, wiring, Calibration{}};
}

// Where no link is shared, every algorithm has a closed form and the simulation is it. S divides by
// all chunk counts that occur.
TEST(Estimate, equals_the_simulation_where_no_link_is_shared) {
  for (const std::string& name : names) {
    for (const Rank ranks : {2U, 4U, 6U, 8U, 12U, 16U, 32U}) {
      const Bytes size = ranks * Bytes{16384};
      const Call call = make_call(name, ranks, 2, true, size);
      const Estimate estimate = call.estimated();
      EXPECT_EQ(estimate.method, EstimateMethod::closed_form) << name << " on " << ranks;
      EXPECT_NEAR(estimate.time.value / call.simulated(), 1, 1e-9) << name << " on " << ranks;
    }
  }
}

TEST(Estimate, equals_the_simulation_behind_one_port_per_rank_where_it_says_closed_form) {
  for (const std::string& name : names) {
    for (const Rank ranks : {2U, 4U, 6U, 8U, 12U, 16U, 32U}) {
      const Call call = make_call(name, ranks, 2, false, ranks * Bytes{16384});
      const Estimate estimate = call.estimated();
      if (estimate.method != EstimateMethod::closed_form) continue;
      EXPECT_NEAR(estimate.time.value / call.simulated(), 1, 1e-9) << name << " on " << ranks;
    }
  }
}

// Whole messages behind one port per rank: children share their parent's. Messages of 0.05 and 13
// us, against alpha = 2 us.
TEST(Estimate, equals_the_simulation_of_trees_behind_one_port_per_rank) {
  for (const std::string name : {"tree", "double_binary_tree"}) {
    for (Rank ranks = 3; ranks <= 33; ++ranks) {
      for (const std::int64_t size : {1024, 262144}) {
        const Call call = make_call(name, ranks, 1, false, Bytes{size});
        const Estimate estimate = call.estimated();
        EXPECT_EQ(estimate.method, EstimateMethod::closed_form) << name << " on " << ranks;
        EXPECT_NEAR(estimate.time.value / call.simulated(), 1, 1e-9) << name << " on " << ranks;
      }
    }
  }
}

// 64 ranks, depth 6: the root has one child, five levels have two. Up and down, 2 (1 + 5 * 2) = 22
// messages in turn, of S in a tree and S/2 in each of two.
TEST(ClosedForm, counts_the_messages_that_wait_for_a_port) {
  const Call tree = make_call("tree", 64, 1, false, Bytes{1 << 20});
  const Estimate one = tree.estimated();
  ASSERT_TRUE(one.form);
  EXPECT_EQ(one.form->alphas, 12);
  EXPECT_EQ(one.form->transfers, 22);
  const Estimate two = make_call("double_binary_tree", 64, 1, false, Bytes{1 << 20}).estimated();
  ASSERT_TRUE(two.form);
  EXPECT_EQ(two.form->alphas, 12);
  EXPECT_EQ(two.form->transfers, 11);
  const Estimate ring = make_call("ring", 64, 1, false, Bytes{1 << 20}).estimated();
  ASSERT_TRUE(ring.form);
  EXPECT_EQ(ring.form->alphas, 126);
  EXPECT_EQ(ring.form->transfers, 126.0 / 64);
}

// What a form says is the time, wherever it says something.
TEST(ClosedForm, terms_add_up_to_the_time) {
  int said = 0;
  for (const std::string& name : names) {
    for (const Rank ranks : {2U, 6U, 8U, 32U}) {
      for (const bool private_links : {true, false}) {
        const Estimate estimate =
            make_call(name, ranks, 1, private_links, ranks * Bytes{16384}).estimated();
        if (!estimate.form) continue;
        ++said;
        const FormulaTerms& form = *estimate.form;
        EXPECT_NEAR((form.alphas * form.alpha.value + form.transfers * form.transfer.value) /
                        estimate.time.value,
                    1, 1e-9)
            << name << " on " << ranks;
      }
    }
  }
  EXPECT_GE(said, 30);
}

// Pipelines of 1 to 33 chunks, with credits that do and do not cover a round trip.
TEST(Estimate, equals_the_simulation_of_pipelined_trees) {
  for (const std::string name : {"tree", "double_binary_tree"}) {
    for (const std::uint32_t credits : {1U, 2U, 3U, 8U}) {
      for (const int loops : {1, 2, 7, 33}) {
        for (const std::int64_t chunk : {400, 40000}) {  // 0.02 us and 2 us, against alpha = 2 us
          const int trees = name == "tree" ? 1 : 2;
          const Chunking chunking{.largest_chunk = {chunk}, .credits = credits};
          const Call call = make_call(name, 12, 1, true, trees * (loops * Bytes{chunk}), chunking);
          EXPECT_NEAR(call.estimated().time.value / call.simulated(), 1, 1e-9)
              << name << ", " << credits << " credits, " << loops << " chunks of " << chunk;
        }
      }
    }
  }
}

TEST(Estimate, equals_the_simulation_of_sliced_rings_with_costs) {
  for (const std::uint32_t slices : {1U, 2U, 4U}) {
    for (const std::int64_t chunk : {400, 400000}) {
      Call call = make_call("ring", 8, 1, true, 8 * (3 * Bytes{chunk}),
                            {.largest_chunk = {chunk}, .slices = slices});
      ProtocolConstants& cost = call.cost.protocols[static_cast<std::size_t>(Protocol::simple)];
      call.cost.launch = microseconds(5);
      cost.step = microseconds(0.3);
      cost.alpha[static_cast<std::size_t>(LinkKind::network)] = microseconds(1);
      EXPECT_NEAR(call.estimated().time.value / call.simulated(), 1, 1e-9)
          << slices << " slices of chunks of " << chunk;
    }
  }
}

// Ring, N = 4: 6 hops of S/4. Critical path: 6 alphas, 6 transfers.
TEST(CriticalPath, of_a_ring_holds_every_hop) {
  const Call call = make_call("ring", 4, 1, true, 4 * Bytes{20000});
  const CriticalPath path = uncontended_critical_path(call.plan, call.partition, call.wiring,
                                                      call.cost, Protocol::simple);
  EXPECT_EQ(path.hops, 6U);
  EXPECT_NEAR(in_microseconds(path.latency), 12, 1e-9);
  EXPECT_NEAR(in_microseconds(path.transfer), 6, 1e-9);  // 20,000 B at 20 GB/s each
  EXPECT_NEAR(path.total().value, call.simulated(), 1e-15);
}

// Ring, N = 1024: 2 million messages, of which steps that repeat themselves are skipped. 2046 hops
// of 2 us, and of 20,000 B at 20 GB/s.
TEST(CriticalPath, of_a_long_ring_is_continued) {
  const Call call = make_call("ring", 1024, 1, true, 1024 * Bytes{20000});
  const CriticalPath path = uncontended_critical_path(call.plan, call.partition, call.wiring,
                                                      call.cost, Protocol::simple);
  EXPECT_LT(path.records.size(), 1000U);
  EXPECT_NEAR(in_microseconds(path.latency), 4092, 1e-3);
  EXPECT_NEAR(in_microseconds(path.transfer), 2046, 1e-3);
}

// The path's parts are the whole time, whatever the algorithm and costs.
TEST(CriticalPath, parts_add_up_to_the_uncontended_time) {
  for (const std::string& name : names) {
    Call call = make_call(name, 12, 4, false, 12 * Bytes{4096}, {.largest_chunk = {1000}});
    call.cost.launch = microseconds(3);
    call.cost.protocols[static_cast<std::size_t>(Protocol::simple)].step = microseconds(0.7);
    const auto fabric = make_fabric(Engine::uncontended);
    const double time =
        execute({call.plan, call.partition, call.wiring, call.cost, Protocol::simple}, *fabric)
            .time.value;
    const CriticalPath path = uncontended_critical_path(call.plan, call.partition, call.wiring,
                                                        call.cost, Protocol::simple);
    EXPECT_NEAR(path.total().value / time, 1, 1e-9) << name;
  }
}

// Nothing ends before its floor, and for the ring the busiest link is tight but for latency:
// 2(N-1)/N S/B, and N-1 hops.
TEST(ModelFloor, holds_for_every_algorithm) {
  for (const std::string& name : names) {
    for (const Rank ranks : {2U, 3U, 4U, 8U, 12U}) {
      if (ranks % 2 != 0 && name.starts_with("hierarchical")) continue;
      for (const bool private_links : {false, true}) {
        for (const std::int64_t size : {4, 4096, 1 << 20}) {
          const Call call = make_call(name, ranks, ranks % 2 == 0 ? 2 : 1, private_links, {size},
                                      {.largest_chunk = {10000}});
          EXPECT_LE(call.floor().largest().value, call.simulated() * (1 + 1e-9))
              << name << " on " << ranks << ", " << size;
        }
      }
    }
  }
}

TEST(ModelFloor, of_a_ring) {
  const Call call = make_call("ring", 4, 1, false, 4 * Bytes{20000});
  EXPECT_NEAR(in_microseconds(call.floor().busiest_resource()), 6, 1e-9);
  EXPECT_NEAR(in_microseconds(call.floor().latency), 6, 1e-9);
}

// NCCL's tree on 8 ranks: 0-4, 4-2, 4-6, 2-1, 2-3, 6-5, 6-7. The farthest two are leaves of
// different halves: 1-2-4-6-7, 4 hops of 2 us.
TEST(ModelFloor, latency_of_a_tree_is_the_way_between_its_farthest_ranks) {
  const Call call = make_call("tree", 8, 1, true, Bytes{4});
  EXPECT_NEAR(in_microseconds(call.floor().latency), 8, 1e-9);
}

// Luck is a thread block's alone: links carry as many bytes as ever.
TEST(ModelFloor, leaves_luck_to_thread_blocks) {
  const ModelFloor blocks{
      .busiest_link = microseconds(3), .busiest_block = microseconds(5), .latency = {}};
  EXPECT_NEAR(in_microseconds(surely_needed(blocks, 0)), 5, 1e-12);
  EXPECT_NEAR(in_microseconds(surely_needed(blocks, 0.15)), 3.5, 1e-12);
  const ModelFloor links{
      .busiest_link = microseconds(5), .busiest_block = microseconds(3), .latency = {}};
  EXPECT_NEAR(in_microseconds(surely_needed(links, 0.15)), 5, 1e-12);
}

TEST(ModelFloor, stops_a_prediction_below_it) {
  EXPECT_NO_THROW(check_not_below(microseconds(5), microseconds(5), "a call"));
  EXPECT_NO_THROW(check_not_below(microseconds(5 - 1e-10), microseconds(5), "a call"));
  EXPECT_THROW(check_not_below(microseconds(4.999), microseconds(5), "a call"), std::logic_error);
}

}  // namespace
}  // namespace collsim
