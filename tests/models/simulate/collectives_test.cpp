// Every algorithm of every collective can be asked for, on a machine of several nodes, and nothing
// ends before its bounds (the compiler throws where it would).

#include <gtest/gtest.h>

#include <string>

#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "sim/algorithms/registry.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

Topology shipped(std::string_view name) {
  return load_topology(find_data_file(name, "topologies"));
}

TEST(PredictedCollectives, all_are_answered_within_their_bounds) {
  const Topology topology = shipped("dgx-h100-x4");
  const Calibration cost = calibration_for(topology);
  int answered = 0;
  for (const Collective collective : all_collectives()) {
    for (const std::string& name : algorithm_names(collective)) {
      for (const Rank ranks : {1U, 2U, 7U, 8U, 16U, 19U}) {
        RunSpec run;
        run.schedule = ScheduleKind::textbook;
        run.algorithm = name;
        run.chunking.emplace().largest_chunk = Bytes{100000};
        const Rank root = ranks / 2;
        Placement placement = uniform_placement(ranks, 8);
        if (why_unsupported(collective, name, placement)) continue;
        const CallCompiler compiler(
            {&topology, cost, collective, run, first_gpus(topology, ranks), root});
        for (const std::int64_t size : {0, 4, 4096, 1 << 20}) {
          const Prediction simulated = simulate(compiler.plan(Bytes{size}));
          const Prediction estimated = Estimator(compiler).estimate(Bytes{size});
          EXPECT_GE(simulated.time.value, cost.launch.value) << name << " on " << ranks;
          EXPECT_GE(estimated.time.value, cost.launch.value) << name << " on " << ranks;
          ++answered;
        }
      }
    }
  }
  EXPECT_GT(answered, 200);
}

// 8 ranks behind one port each of 50 GB/s: nobody can have S after less than S / 50 GB/s, plus the
// ring's hops from the root; 50,000 bytes are 1 us. From GPU to switch and on are 2 x 0.5 us.
TEST(PredictedCollectives, broadcast_is_bounded_by_the_ports_of_those_who_listen) {
  const Topology topology = shipped("switch-8");
  RunSpec run;
  run.algorithm = "ring";
  const CallCompiler compiler(
      {&topology, Calibration{}, Collective::broadcast, run, first_gpus(topology, 8), 3});
  const Prediction prediction = simulate(compiler.plan(Bytes{50000}));
  EXPECT_NEAR(in_microseconds(prediction.bounds.bandwidth), 1, 1e-9);
  EXPECT_NEAR(in_microseconds(prediction.bounds.latency), 1, 1e-9);
  // The ring's last rank is 7 hops away.
  EXPECT_NEAR(in_microseconds(prediction.floor.latency), 7, 1e-9);
}

// Each of 8 ranks has S = 80,000 bytes for all, an eighth of it for itself: 70,000 out and in.
TEST(PredictedCollectives, all_to_all_is_bounded_by_what_leaves_each_rank) {
  const Topology topology = shipped("switch-8");
  RunSpec run;
  run.algorithm = algorithm_names(Collective::all_to_all).front();
  const CallCompiler compiler(
      {&topology, Calibration{}, Collective::all_to_all, run, first_gpus(topology, 8)});
  const Prediction prediction = simulate(compiler.plan(Bytes{80000}));
  EXPECT_NEAR(in_microseconds(prediction.bounds.bandwidth), 1.4, 1e-9);
}

}  // namespace
}  // namespace collsim
