// Plans by steps: goodput by hand, what is best, what money buys.

#include "tools/collsim/plan/step_plan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/faults/fault.h"
#include "sim/base/input_error.h"
#include "tests/support/test_data.h"
#include "tools/collsim/request/change.h"
#include "tools/collsim/train/transformer_file.h"

namespace collsim {
namespace {

// 100 GPUs that fail every 1e6 s each: the job every 1e4 s. A checkpoint of 50 s is due every
// sqrt(2 x 50 x 1e4) = 1000 s. A second of progress costs 1 + 50 / 1000 + (500 + 100) / 1e4 = 1.11.
// In repair are 1000 / 1e4 = 0.1 nodes: none with exp(-0.1) = 0.90484, at most one with 0.99532.
TEST(Goodput, follows_young) {
  FailureRates rates;
  rates.between = Seconds{1e6};
  rates.checkpoint = Seconds{50};
  rates.restart = Seconds{100};
  rates.repair = Seconds{1000};
  rates.spares = 0;
  const Goodput none = goodput_of(rates, 25, 100);
  EXPECT_NEAR(none.between_checkpoints.value, 1000, 1e-9);
  EXPECT_NEAR(none.share, 0.904837 / 1.11, 1e-5);
  rates.spares = 1;
  EXPECT_NEAR(goodput_of(rates, 25, 100).share, 0.995321 / 1.11, 1e-5);
}

// A spare brings 0.99532 / 0.90484 = 1.1 and costs 26 / 25 of 25 nodes, or 2 / 1 of one.
TEST(Goodput, takes_spares_that_pay) {
  FailureRates rates;
  rates.between = Seconds{1e6};
  rates.repair = Seconds{1000};
  EXPECT_EQ(goodput_of(rates, 25, 100).spares, 1U);
  EXPECT_EQ(goodput_of(rates, 1, 100).spares, 0U);
}

StepPlanRequest request_of(const std::vector<std::string>& machines) {
  StepPlanRequest request;
  for (const std::string& name : machines) {
    Alternative alternative;
    alternative.parts = load_parts(name);
    alternative.base = request.alternatives.size();
    alternative.nodes = {1, 2};
    request.alternatives.push_back(std::move(alternative));
  }
  request.setup.model = find_transformer("llama2-7b");
  request.setup.global_batch = 64;
  request.prices = load_prices();
  return request;
}

TEST(StepPlan, finds_the_cheapest_that_meets_a_deadline) {
  const ShippedData shipped;
  StepPlanRequest request = request_of({"dgx-h100", "dgx-a100"});
  request.tokens = 1e9;
  const StepPlan plan = plan_steps(request);
  ASSERT_EQ(plan.rows.size(), 4U);
  const StepPlanRow* cheapest = nullptr;
  for (const StepPlanRow& row : plan.rows) {
    EXPECT_TRUE(row.layout.step.fits);
    EXPECT_EQ(row.layout.setup.ranks(), row.gpus);
    // Money for a token: of an hour, by the tokens of an hour.
    ASSERT_TRUE(row.token_cost.has_value());
    EXPECT_NEAR(*row.token_cost, *row.per_hour / 3600 * 1e6 / row.tokens_per_second, 1e-12);
    EXPECT_NEAR(row.run.value * row.tokens_per_second, 1e9, 1);
    if (cheapest == nullptr || *row.token_cost < *cheapest->token_cost) cheapest = &row;
  }
  EXPECT_TRUE(cheapest->best);
  // A deadline that only the quickest meets.
  Seconds least = plan.rows.front().run;
  for (const StepPlanRow& row : plan.rows) least = std::min(least, row.run);
  request.deadline = 1.001 * least;
  for (const StepPlanRow& row : plan_steps(request).rows) {
    EXPECT_EQ(row.meets, row.run <= *request.deadline);
    EXPECT_EQ(row.best, row.meets);
  }
}

StepMachine machine_on(const Topology& topology) {
  MachineCalls calls;
  calls.topology = &topology;
  calls.gpus.assign(topology.gpus().begin(), topology.gpus().end());
  return {calls, load_kernel_table()};
}

StepPrediction step_on(const Topology& topology, std::int64_t pipeline) {
  StepMachine machine = machine_on(topology);
  TrainingSetup setup;
  setup.model = find_transformer("llama2-7b");
  setup.pipeline = pipeline;
  setup.data = 16 / pipeline;
  setup.zero = 1;
  setup.global_batch = 64;
  return machine.predict(setup);
}

// One node of H100 beside one of A100. Data-parallel ranks all have as much to do, and wait for
// A100: kernels take what they take on two nodes of A100. In a pipeline each stage has its own.
TEST(StepPlan, waits_for_the_slowest_kind_of_a_stage) {
  const ShippedData shipped;
  const Topology mixed = compose(changed(load_parts("dgx-h100"), "beside=dgx-a100:1"), 1);
  const Topology slow = compose(load_parts("dgx-a100"), 2);
  const Topology quick = compose(load_parts("dgx-h100"), 2);
  EXPECT_NEAR(step_on(mixed, 1).computes.value, step_on(slow, 1).computes.value, 1e-9);
  EXPECT_GT(step_on(mixed, 1).time, step_on(quick, 1).time);
  EXPECT_LT(step_on(mixed, 2).time, step_on(slow, 2).time);
  EXPECT_GT(step_on(mixed, 2).time, step_on(quick, 2).time);
}

// Of 8 H100 and 8 A100 an hour costs less than of 16 H100, 110.08, and more than of 16 A100, 54.90.
TEST(StepPlan, prices_nodes_of_another_kind) {
  const ShippedData shipped;
  StepPlanRequest request = request_of({"dgx-h100"});
  request.alternatives.front().parts =
      changed(std::move(request.alternatives.front().parts), "beside=dgx-a100:1");
  request.alternatives.front().nodes = {1};
  request.failures.spares = 0;
  const StepPlan plan = plan_steps(request);
  ASSERT_EQ(plan.rows.size(), 1U);
  EXPECT_EQ(plan.rows.front().nodes, 2U);
  EXPECT_EQ(plan.rows.front().gpus, 16U);
  ASSERT_TRUE(plan.rows.front().per_hour.has_value());
  EXPECT_LT(*plan.rows.front().per_hour, 110.08);
  EXPECT_GT(*plan.rows.front().per_hour, 54.90);
}

// H100 cost 6.88 a GPU and hour, so that 120 an hour are two nodes of 8 (110.08); A100 cost 3.431,
// four nodes (109.79).
TEST(StepPlan, buys_as_many_nodes_as_an_hour_pays) {
  const ShippedData shipped;
  StepPlanRequest request = request_of({"dgx-h100", "dgx-a100"});
  request.hourly = 120;
  request.failures.spares = 0;
  const StepPlan plan = plan_steps(request);
  ASSERT_EQ(plan.rows.size(), 2U);
  EXPECT_EQ(plan.rows[0].nodes, 2U);
  EXPECT_EQ(plan.rows[1].nodes, 4U);
}

// Eight tensor-parallel ranks of one node spend a fifth of their time in calls, of which products
// hide most.
TEST(StepPlan, hides_calls_beside_products) {
  const ShippedData shipped;
  const Topology topology = compose(load_parts("dgx-h100"), 1);
  StepMachine machine = machine_on(topology);
  TrainingSetup setup;
  setup.model = find_transformer("llama2-7b");
  setup.tensor = 8;
  setup.sequence_parallel = true;
  setup.global_batch = 8;
  const auto exposed = [&](TensorOverlap overlap) {
    setup.tensor_overlap = overlap;
    return machine.predict(setup).exposed.at("tp").value;
  };
  const double all = exposed(TensorOverlap::none);
  EXPECT_LT(exposed(TensorOverlap::backward), 0.9 * all);
  EXPECT_LT(exposed(TensorOverlap::all), 0.6 * all);
}

// One node of each: 8 replicas on H100 and 8 on A100, 12 of 192 sequences each with equal parts. By
// speed those on H100 have more, and none is left out.
TEST(StepPlan, divides_batches_by_speed) {
  const ShippedData shipped;
  const Topology mixed = compose(changed(load_parts("dgx-h100"), "beside=dgx-a100:1"), 1);
  StepMachine machine = machine_on(mixed);
  TrainingSetup setup;
  setup.model = find_transformer("llama2-7b");
  setup.data = 16;
  setup.zero = 1;
  setup.global_batch = 192;
  const StepPrediction equal = machine.predict(setup);
  const StepPrediction step = machine.predict_by_speed(setup);
  ASSERT_EQ(step.shares.size(), 2U);
  std::int64_t all = 0;
  for (const ReplicaShare& each : step.shares) {
    EXPECT_EQ(each.replicas, 8);
    all += each.replicas * each.microbatches;
  }
  EXPECT_GE(all, 192);       // none is left out,
  EXPECT_LT(all, 192 + 16);  // and less than one is left over for each replica
  EXPECT_LT(step.time, equal.time);
  EXPECT_DOUBLE_EQ(step.equal.value, equal.time.value);
  // A microbatch of A100 takes T, of H100 t: 12 T with equal parts, m T by speed, with m those that
  // A100 have. What else a step has stays.
  const bool first_is_slow = step.shares.front().gpus.starts_with("A100");
  const ReplicaShare& slow = step.shares[first_is_slow ? 0 : 1];
  EXPECT_LT(slow.microbatches, 12);
  EXPECT_NEAR(step.time.value / equal.time.value, static_cast<double>(slow.microbatches) / 12, 0.1);
  // With ZeRO 3 all meet in every microbatch.
  setup.zero = 3;
  EXPECT_TRUE(machine.predict_by_speed(setup).shares.empty());
}

// Nodes of 8 GPUs with a NIC each: data-parallel rank 3 of a node has nic3. Whichever NIC is slow,
// all wait for it.
TEST(StepPlan, waits_for_a_fault_wherever_it_is) {
  const ShippedData shipped;
  StepPlanRequest request = request_of({"dgx-h100"});
  request.alternatives.front().nodes = {2};
  for (const char* const nic : {"nic0", "nic3"}) {
    Alternative faulty = request.alternatives.front();
    faulty.change = nic;
    faulty.faults = {parse_fault(fmt::format("link: node1/{}, bandwidth: 10%", nic))};
    request.alternatives.push_back(std::move(faulty));
  }
  request.setup.global_batch = 16;
  const StepPlan plan = plan_steps(request);
  ASSERT_EQ(plan.rows.size(), 3U);
  EXPECT_FALSE(plan.rows[0].slower.has_value());
  EXPECT_TRUE(plan.rows[0].best);
  for (const std::size_t row : {1U, 2U}) {
    ASSERT_TRUE(plan.rows[row].slower.has_value());
    EXPECT_GT(*plan.rows[row].slower, 0.05);
    EXPECT_FALSE(plan.rows[row].best || plan.rows[row].ties);
    EXPECT_EQ(plan.rows[row].layout.setup.tensor, plan.rows[0].layout.setup.tensor);
  }
}

/// What a plan says of the only machine that it cannot use.
std::string only_warning(const StepPlanRequest& request) {
  const StepPlan plan = plan_steps(request);
  EXPECT_TRUE(plan.rows.empty());
  return plan.warnings.empty() ? "" : *plan.warnings.begin();
}

// 405 billion parameters take 16 bytes and more each with all states, of 16 GPUs of 80 GB.
TEST(StepPlan, says_which_limit_is_in_the_way) {
  const ShippedData shipped;
  StepPlanRequest request = request_of({"dgx-a100"});
  request.alternatives.front().nodes = {1};
  request.setup.model = find_transformer("llama3-405b");
  EXPECT_NE(only_warning(request).find("the smallest needs "), std::string::npos)
      << only_warning(request);
  // 37 nodes: more stages than llama2-7b has layers, so that 37 replicas or more divide the batch.
  request = request_of({"dgx-a100"});
  request.alternatives.front().nodes = {37};
  EXPECT_NE(only_warning(request).find("a batch of 37 or 74 would do"), std::string::npos)
      << only_warning(request);
}

LayoutSearch search_of(const char* model, std::int64_t batch) {
  LayoutSearch search;
  search.setup.model = find_transformer(model);
  search.setup.global_batch = batch;
  search.limit = 1;
  return search;
}

FoundLayouts layouts_on(const Topology& topology, const LayoutSearch& search) {
  MachineCalls calls;
  calls.topology = &topology;
  calls.gpus.assign(topology.gpus().begin(), topology.gpus().end());
  return search_layouts(calls, load_kernel_table(), search);
}

// Whatever the count of nodes, a batch that is a power of two finds a layout: three, five and more
// stages of 80 layers are uneven.
TEST(StepPlan, finds_uneven_stages) {
  const ShippedData shipped;
  for (const std::uint32_t nodes : {3U, 6U, 7U, 9U, 12U}) {
    const Topology topology = compose(load_parts("dgx-h100"), nodes);
    const FoundLayouts found = layouts_on(topology, search_of("llama3-70b", 1024));
    ASSERT_EQ(found.layouts.size(), 1U) << nodes << why_none(found.counts, {});
    EXPECT_EQ(found.layouts.front().setup.ranks(), 8 * nodes);
  }
}

// Layouts are given up as soon as they cannot win: the quickest of all that were seen to their end
// is found. Batches are so large that steps are continued from a few of their microbatches.
TEST(StepPlan, gives_up_no_layout_that_would_win) {
  const ShippedData shipped;
  for (const char* machine : {"dgx-a100", "gh200-4"}) {
    const Topology topology = compose(load_parts(machine), 1);
    LayoutSearch search = search_of("llama3-8b", 2048);
    const FoundLayouts one = layouts_on(topology, search);
    search.limit = 1000;
    const FoundLayouts all = layouts_on(topology, search);
    ASSERT_EQ(one.layouts.empty(), all.layouts.empty()) << machine;
    if (all.layouts.empty()) continue;
    EXPECT_TRUE(all.layouts.front().step.continued) << machine;
    EXPECT_EQ(one.layouts.front().step.time.value, all.layouts.front().step.time.value) << machine;
    EXPECT_LE(all.layouts.front().step.time, all.layouts.back().step.time) << machine;
  }
}

// What a stage computes, with the calls between its kernels, comes one after the other: whatever
// the layout, no step is shorter. Experts on several ranks exchange tokens between kernels.
TEST(StepPlan, no_step_is_shorter_than_the_work_of_a_stage) {
  const ShippedData shipped;
  struct Searched {
    const char* machine;
    std::uint32_t nodes;
    const char* model;
  };
  for (const Searched& each :
       {Searched{"dgx-a100", 2, "llama3-8b"}, Searched{"dgx-h100", 4, "mixtral-8x7b"},
        Searched{"gh200-4", 3, "llama2-7b"}}) {
    const Topology topology = compose(load_parts(each.machine), each.nodes);
    LayoutSearch search = search_of(each.model, 192);
    search.limit = 1000;
    StepMachine machine = machine_on(topology);
    const FoundLayouts all = layouts_on(topology, search);
    EXPECT_GT(all.layouts.size(), 20U) << each.machine;
    for (const FoundLayout& found : all.layouts) {
      const TrainingSetup& setup = found.setup;
      const double least = machine.min_step_time(setup).value;
      const double step = found.step.time.value;
      EXPECT_TRUE(0.1 * step < least && least <= step * (1 + 1e-9))
          << each.machine << ": " << least << " of " << step << " s, tensor " << setup.tensor
          << ", pipeline " << setup.pipeline << " x " << setup.interleave << ", zero " << setup.zero
          << ", experts " << setup.expert << ", microbatch " << setup.micro_batch;
    }
  }
}

// 27 layers of 80 in each of two stages and 26 in the third: all of them are somewhere, and a step
// of even stages of 27 layers is as long.
TEST(StepPlan, gives_every_layer_to_a_stage) {
  const ShippedData shipped;
  TrainingSetup setup;
  setup.model = find_transformer("llama3-70b");
  for (setup.pipeline = 1; setup.pipeline <= 40; ++setup.pipeline) {
    for (setup.interleave = 1; setup.pipeline * setup.interleave <= 80; ++setup.interleave) {
      std::int64_t layers = 0;
      for (std::int64_t stage = 0; stage < setup.pipeline; ++stage) {
        layers += stage_layers(setup, stage);
        EXPECT_LE(stage_layers(setup, stage), stage_layers(setup, 0));
      }
      EXPECT_EQ(layers, 80) << setup.pipeline << " " << setup.interleave;
    }
  }
}

// Of 72 GPUs 64 can be used where the heads and the batch are powers of two; not only then.
TEST(StepPlan, uses_a_power_of_two_of_a_nodes_gpus) {
  const ShippedData shipped;
  const Topology topology = compose(load_parts("gb200-nvl72"), 1);
  const FoundLayouts found = layouts_on(topology, search_of("llama3-8b", 256));
  ASSERT_EQ(found.layouts.size(), 1U);
  EXPECT_EQ(found.layouts.front().setup.ranks(), 64);
  EXPECT_EQ(found.layouts.front().per_node, 64U);
}

// A mixture of experts: P parameters of experts in a layer, and the rest. Ranks that hold the same
// experts, d c / e of them, share their states, and all d c share the others'.
TEST(StepPlan, shares_states_of_experts_among_those_who_hold_them) {
  const ShippedData shipped;
  TrainingSetup setup;
  setup.model = find_transformer("mixtral-8x7b");
  const double layers = static_cast<double>(setup.model.layers);
  const double experts = layers * 8 * ffn_parameters(setup.model);
  const double others =
      layers * layer_parameters(setup.model) - experts + 2 * embedding_parameters(setup.model);
  setup.zero = 1;
  for (const std::int64_t data : {8, 16, 64}) {
    for (const std::int64_t context : {1, 2}) {
      for (const std::int64_t expert : {1, 2, 4, 8}) {
        setup.data = data;
        setup.context = context;
        setup.expert = expert;
        const auto ranks = static_cast<double>(data * context);
        // All states of all ranks are one copy of the model's, whatever the layout.
        EXPECT_NEAR(step_memory(setup).optimizer, 12 * (others + experts) / ranks, 1)
            << data << " " << context << " " << expert;
      }
    }
  }
}

}  // namespace
}  // namespace collsim
