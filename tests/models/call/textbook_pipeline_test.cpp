// A textbook's algorithm on a real machine is cut as NCCL cuts its own.

#include "models/call/textbook_pipeline.h"

#include <gtest/gtest.h>

#include <string>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/plan/checker.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

Prediction of_gibibyte(const Topology& topology, const std::string& algorithm,
                       ScheduleKind schedule) {
  RunSpec run;
  run.algorithm = algorithm;
  run.schedule = schedule;
  const Calibration cost = calibration_for(topology);
  const CallCompiler compiler({&topology,
                               cost,
                               Collective::all_reduce,
                               run,
                               {topology.gpus().begin(), topology.gpus().end()}});
  return simulate(compiler.plan(Bytes{1 << 30}));
}

/// How many times as long as in NCCL's schedule it takes in the textbook's.
double times_nccls(const Topology& topology, const std::string& algorithm) {
  return of_gibibyte(topology, algorithm, ScheduleKind::textbook).time.value /
         of_gibibyte(topology, algorithm, ScheduleKind::nccl).time.value;
}

// In one node the double tree is the chain that NCCL's tree is, and both rings go round the GPUs
// in order. What is left is how calls are split over channels.
TEST(TextbookPipeline, equals_nccls_schedule_where_the_algorithm_is_the_same) {
  const Topology node = load_topology(find_data_file("hgx-h200", "topologies"));
  const Prediction chain = of_gibibyte(node, "double_binary_tree", ScheduleKind::textbook);
  EXPECT_EQ(chain.channels, 24U);
  const Prediction tree = of_gibibyte(node, "tree", ScheduleKind::nccl);
  EXPECT_NEAR(chain.time.value / tree.time.value, 1, 0.05);
  EXPECT_NEAR(times_nccls(node, "ring"), 1, 0.05);
}

// Between nodes NCCL's channels use all NICs. So do a textbook's, whose ranks are rotated.
TEST(TextbookPipeline, uses_all_nics_of_a_node) {
  const Topology nodes = load_topology(find_data_file("dgx-h100-x4", "topologies"));
  EXPECT_LT(times_nccls(nodes, "ring"), 1.2);
}

TEST(TextbookPipeline, rotated_channels_are_proved) {
  for (const Collective collective : {Collective::all_reduce, Collective::broadcast}) {
    for (const std::string& name : algorithm_names(collective)) {
      const Placement placement = uniform_placement(12, 4);
      if (why_unsupported(collective, name, placement)) continue;
      const Plan plan = make_plan(collective, name, placement, 6, 5, ChannelOrder::rotated);
      EXPECT_EQ(plan.schedules.size(), 4U);
      EXPECT_TRUE(check(plan).ok()) << name;
    }
  }
}

TEST(TextbookPipeline, is_plain_on_a_textbooks_machine_and_where_it_is_told) {
  const Topology ideal = load_topology(find_data_file("switch-8", "topologies"));
  RunSpec run;
  run.schedule = ScheduleKind::textbook;
  run.algorithm = "ring";
  const CallCompiler plain(
      {&ideal, calibration_for(ideal), Collective::all_reduce, run, first_gpus(ideal, 8)});
  EXPECT_EQ(plain.spec().run.channels, 1U);
  EXPECT_EQ(plain.spec().run.chunking, Chunking{});
  const Topology node = load_topology(find_data_file("hgx-h200", "topologies"));
  run.channels = 4;
  run.chunking = Chunking{};
  const CallCompiler told(
      {&node, calibration_for(node), Collective::all_reduce, run, first_gpus(node, 8)});
  EXPECT_EQ(told.spec().run.channels, 4U);
  EXPECT_EQ(told.spec().run.chunking, Chunking{});
}

// Simple: 8 steps of 512 KiB; a ring's chunk is four of them in two slices. LL carries half of 64
// KiB, LL128 15/16 of 614,400.
TEST(TextbookPipeline, has_nccls_chunks) {
  const Chunking ring = nccls_chunking(Collective::all_reduce, "ring", Protocol::simple);
  EXPECT_EQ(ring.largest_chunk, Bytes{2 << 20});
  EXPECT_EQ(ring.slices, 2U);
  EXPECT_EQ(ring.credits, 4U);
  EXPECT_EQ(nccls_chunking(Collective::all_reduce, "tree", Protocol::simple).largest_chunk,
            Bytes{512 << 10});
  EXPECT_EQ(nccls_chunking(Collective::all_reduce, "ring", Protocol::ll).largest_chunk,
            Bytes{32 << 10});
  EXPECT_EQ(nccls_chunking(Collective::all_reduce, "ring", Protocol::ll128).largest_chunk,
            Bytes{576'000});
}

}  // namespace
}  // namespace collsim
