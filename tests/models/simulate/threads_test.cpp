// Planners and plans change nothing when they are asked: threads that share them get the answers
// that one thread gets.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/estimate/estimator.h"
#include "sim/base/data_directory.h"
#include "sim/base/parallel.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

/// All that an answer consists of.
std::vector<double> answer(const CompiledCall& call) {
  const Prediction simulated = simulate(call);
  const Prediction estimated = Estimator(*call.compiler).estimate(call.size);
  return {simulated.time.value,
          simulated.mean_over_ranks.value,
          static_cast<double>(simulated.transfers),
          simulated.bounds.largest().value,
          simulated.floor.largest().value,
          estimated.time.value,
          mean_time(call, call.compiler->spec().cost).value};
}

TEST(Threads, get_the_answers_that_one_thread_gets) {
  const Topology topology = load_topology(find_data_file("hgx-h200", "topologies"));
  CallSpec spec;
  spec.topology = &topology;
  spec.cost = calibration_for(topology);
  spec.gpus = first_gpus(topology, 8);
  CallSpec over_host_memory = spec;
  over_host_memory.run.variables = {{"NCCL_P2P_DISABLE", "1"}};
  CallSpec messages = spec;
  messages.collective = Collective::all_to_all;
  CallSpec textbook = spec;
  textbook.run.schedule = ScheduleKind::textbook;
  std::vector<CallCompiler> compilers;
  for (const CallSpec& each : {spec, over_host_memory, messages, textbook}) {
    compilers.emplace_back(each);
  }
  constexpr std::array<std::int64_t, 3> sizes{64, 1 << 16, 1 << 20};
  std::vector<CompiledCall> plans;
  plans.reserve(compilers.size() * sizes.size());
  for (const CallCompiler& compiler : compilers) {
    LayoutCache cache;
    for (const std::int64_t size : sizes) {
      plans.push_back(compiler.plan(Bytes{size}, &cache));
    }
  }
  std::vector<std::vector<double>> serial;
  serial.reserve(plans.size());
  for (const CompiledCall& plan : plans) serial.push_back(answer(plan));

  constexpr std::size_t rounds = 6;  // every second one shares plans, the others plan anew
  std::vector<std::vector<double>> parallel(rounds * plans.size());
  for_each_in_parallel(parallel.size(), 8, [&](std::size_t i) {
    const CompiledCall& shared = plans[i % plans.size()];
    const bool anew = i / plans.size() % 2 == 1;
    parallel[i] = answer(anew ? shared.compiler->plan(shared.size) : shared);
  });
  for (std::size_t i = 0; i < parallel.size(); ++i) {
    EXPECT_EQ(parallel[i], serial[i % plans.size()]) << i;
  }
}

}  // namespace
}  // namespace collsim
