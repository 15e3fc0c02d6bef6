// Whole plans: times are those of `run`, and what is recommended follows from them.

#include "models/planning/capacity_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/calibration/transport.h"
#include "models/imports/machine.h"
#include "models/planning/change.h"
#include "models/prediction/simulator.h"
#include "sim/base/data_directory.h"
#include "sim/base/input_error.h"

namespace collsim {
namespace {

CapacityQuestion question_of(const std::string& machine, const std::vector<std::uint32_t>& nodes,
                             const std::vector<std::string>& changes, Bytes bytes) {
  CapacityQuestion question;
  const MachineParts parts = load_parts(machine);
  question.alternatives.push_back({parts, {}, 0, nodes, {}});
  for (const std::string& change : changes) {
    question.alternatives.push_back({changed(parts, change), change, 0, nodes, {}});
  }
  question.workloads = {{"it", bytes}};
  question.call.run.schedule = ScheduleKind::nccl;
  question.prices = load_prices(find_data_file("prices", "models"));
  return question;
}

/// What `collsim run` says of all GPUs of a machine.
Seconds run_time(const Topology& topology, Bytes bytes) {
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.run = settled(spec.run, spec.collective, topology);
  spec.gpus = {topology.gpus().begin(), topology.gpus().end()};
  const Planner planner(spec);
  return Simulator(planner).simulate(bytes).time;
}

TEST(CapacityPlan, has_the_times_of_run) {
  // dgx-h100-x4 is the shipped cluster of four such nodes; the other two counts are composed.
  const Bytes size{64 << 20};
  const CapacityPlan plan = plan_capacity(question_of("dgx-h100", {1, 4, 64}, {}, size));
  ASSERT_EQ(plan.rows.size(), 3U);
  int simulated = 0;
  for (const PlanRow& row : plan.rows) {
    const Topology composed = compose(load_parts("dgx-h100"), row.nodes);
    if (!row.simulated) continue;
    ++simulated;
    EXPECT_DOUBLE_EQ(row.time.value, run_time(composed, size).value) << row.nodes;
    if (row.nodes == 4) {
      const Topology shipped = load_machine("dgx-h100-x4").topology;
      EXPECT_NEAR(row.time.value, run_time(shipped, size).value, 1e-9 * row.time.value);
    }
  }
  // Without compute the same work takes 1/4 and 1/64 of a step: all are on the front.
  EXPECT_EQ(simulated, 3);
}

TEST(CapacityPlan, searches_once_for_all_counts) {
  // What a machine of 2 nodes found serves one of 16: as if it had searched itself.
  const MachineParts parts = load_parts("dgx-a100");
  PlannedCall call;
  call.run.schedule = ScheduleKind::nccl;
  const PlannedMachine small(parts, 2, call, nullptr);
  PlannedMachine taken_over(parts, 16, call, &small);
  PlannedMachine own(parts, 16, call, nullptr);
  for (const std::int64_t size : {8, 1 << 16, 1 << 22, 1 << 30}) {
    const std::vector<CallGroup> calls{{Bytes{size}}};
    const WorkloadTime one = taken_over.estimate(calls);
    const WorkloadTime other = own.estimate(calls);
    EXPECT_DOUBLE_EQ(one.time.value, other.time.value) << size;
    EXPECT_EQ(one.largest.algorithm, other.largest.algorithm) << size;
    EXPECT_EQ(one.largest.channels, other.largest.channels) << size;
  }
}

TEST(CapacityPlan, says_what_a_slower_nic_costs) {
  // 1 GB over 8 nodes: half the NIC takes nearly twice as long, and NICs are the limit of both.
  CapacityQuestion question =
      question_of("dgx-h100", {8}, {"nic=200Gb/s", "nics=4"}, Bytes{1'000'000'000});
  const CapacityPlan plan = plan_capacity(question);
  ASSERT_EQ(plan.upgrades.size(), 2U);
  EXPECT_GT(plan.upgrades[0].time, 0.7);
  EXPECT_LT(plan.upgrades[0].time, 1.05);
  // 19 % of the price is the network's, which is worth half.
  EXPECT_NEAR(*plan.upgrades[0].price, -0.095, 1e-6);
  EXPECT_EQ(plan.rows[1].limit.limit, Limit::nic);
  EXPECT_TRUE(plan.rows[0].cheapest);
}

TEST(CapacityPlan, recommends_the_cheapest_that_meets_the_target) {
  // The target is between the unchanged machine and the slower one. By formulas, so that a row has
  // the same time in all plans: what is simulated depends on the target.
  CapacityQuestion question = question_of("dgx-h100", {8}, {"nic=200Gb/s"}, Bytes{1'000'000'000});
  question.messages = 0;
  const CapacityPlan plan = plan_capacity(question);
  question.target.time = Seconds{1.05 * plan.rows[1].time.value};
  EXPECT_TRUE(plan_capacity(question).rows[1].cheapest);
  question.target.time = Seconds{1.2 * plan.rows[0].time.value};
  const CapacityPlan strict = plan_capacity(question);
  EXPECT_TRUE(strict.rows[0].cheapest);
  EXPECT_FALSE(strict.rows[1].meets);
  question.target.time = Seconds{1e-6};
  for (const PlanRow& row : plan_capacity(question).rows) EXPECT_FALSE(row.cheapest);
}

TEST(CapacityPlan, simulates_what_the_cheapest_is_compared_with) {
  // Two nodes lie on one leaf, so that a thinner fabric takes nothing and costs less: it is the
  // cheapest. That they are as fast is said of two simulations.
  const CapacityPlan plan =
      plan_capacity(question_of("dgx-h100", {2}, {"oversubscription=2"}, Bytes{64 << 20}));
  EXPECT_TRUE(plan.rows[1].cheapest);
  EXPECT_FALSE(plan.rows[0].on_front);
  EXPECT_TRUE(plan.rows[0].simulated);
  EXPECT_TRUE(plan.rows[1].simulated);
  EXPECT_NEAR(plan.upgrades.at(0).time, 0, 1e-9);
}

TEST(CapacityPlan, compares_like_with_like) {
  // Messages for the unchanged machine alone: the other is estimated, and so the change is what
  // formulas make of it, as in a plan that simulates nothing.
  CapacityQuestion question = question_of("dgx-h100", {8}, {"nic=200Gb/s"}, Bytes{1'000'000'000});
  question.messages = 2.6e6;
  const CapacityPlan mixed = plan_capacity(question);
  ASSERT_NE(mixed.rows[0].simulated, mixed.rows[1].simulated);
  question.messages = 0;
  EXPECT_DOUBLE_EQ(mixed.upgrades.at(0).time, plan_capacity(question).upgrades.at(0).time);
  EXPECT_TRUE(mixed.upgrades.at(0).by_formulas);
}

TEST(CapacityPlan, corrects_estimates_as_the_nearest_simulation_shows) {
  // What the messages suffice for is simulated; a count beyond them takes as much longer than its
  // formula as the nearest one that was simulated with the same algorithm.
  const CapacityQuestion question =
      question_of("dgx-h100", {32, 64, 128}, {}, Bytes{6'000'000'000});
  const CapacityPlan plan = plan_capacity(question);
  const PlanRow* nearest = nullptr;
  std::size_t corrected = 0;
  for (const PlanRow& row : plan.rows) {
    const bool alike =
        nearest != nullptr && nearest->prediction.algorithm == row.prediction.algorithm;
    if (row.simulated) nearest = &row;
    if (row.simulated || !alike) continue;
    EXPECT_DOUBLE_EQ(row.time.value / row.estimate.value,
                     nearest->time.value / nearest->estimate.value)
        << row.nodes;
    ++corrected;
  }
  EXPECT_GT(corrected, 0U);
}

TEST(CapacityPlan, leaves_out_simulations_that_are_too_large) {
  CapacityQuestion question = question_of("dgx-h100", {2}, {}, Bytes{64 << 20});
  question.messages = 10;
  const CapacityPlan plan = plan_capacity(question);
  EXPECT_FALSE(plan.rows[0].simulated);
  EXPECT_TRUE(plan.rows[0].cheapest);
}

TEST(CapacityPlan, adds_up_buckets) {
  CapacityQuestion question = question_of("dgx-h100", {2}, {}, Bytes{100 << 20});
  question.messages = 0;
  const Seconds whole = plan_capacity(question).rows[0].time;
  question.workloads[0].bucket = Bytes{25 << 20};
  const Seconds buckets = plan_capacity(question).rows[0].time;
  question.workloads[0] = {"one", Bytes{25 << 20}};
  EXPECT_DOUBLE_EQ(buckets.value, 4 * plan_capacity(question).rows[0].time.value);
  EXPECT_GT(buckets, whole);
}

}  // namespace
}  // namespace collsim
