// The example that docs/cost-model.md computes by hand.

#include <gtest/gtest.h>

#include "models/calibration/transport.h"
#include "models/prediction/prediction.h"
#include "models/prediction/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

// An all_reduce of 1 KiB by LL on 2 ranks, one channel of 3 warps, in a CUDA graph: 512 bytes are
// 1/8 of a full round of 16 warps of 256 bytes. Send; receive, add, store and send; receive and
// store. Jitter moves what is sent, by up to 7 % of 0.3 us.
TEST(CostModel, is_the_example_of_its_page) {
  const Topology topology = load_topology(find_data_file("hgx-h200", "topologies"));
  const Calibration cost = calibration_for(topology);
  RunSpec run;
  run.algorithm = "ring";
  run.graph = true;
  run.variables = {{"NCCL_PROTO", "LL"}, {"NCCL_MAX_NCHANNELS", "1"}};
  const Planner planner({&topology, cost, Collective::all_reduce, run, first_gpus(topology, 2)});
  const ProtocolCost ll = cost.of(Protocol::ll);
  ASSERT_LT(ll.alpha[static_cast<std::size_t>(LinkKind::nvlink)].value, ll.step.value)
      << "else ranks wait for messages";
  const Seconds send = 1.0 / 8 * ll.work + ll.step;
  const Seconds receive = 2 * ll.wait + ll.step;
  const Seconds forward = 2 * ll.wait + 1.0 / 8 * ll.work + ll.step;
  const Seconds by_hand = *cost.graph_launch + ll.setup + send + forward + receive;
  const Seconds time = simulate(planner.plan(Bytes{1024})).time;
  EXPECT_NEAR(in_microseconds(time), in_microseconds(by_hand), 0.03);
}

}  // namespace
}  // namespace collsim
