// NCCL's plans on machines that are alike node by node end when they would have ended had every
// rank been simulated.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/calibration/calibration_choice.h"
#include "models/prediction/prediction.h"
#include "models/prediction/rank_gpus.h"
#include "sim/base/data_directory.h"
#include "sim/fabric/native_fabric.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

class FoldedNcclPlan : public testing::Test {
 protected:
  FoldedNcclPlan() : topology_(load_topology(find_data_file("dgx-h100-x4", "topologies"))) {}

  CallSpec spec(Collective collective, const std::string& algorithm) const {
    CallSpec spec;
    spec.topology = &topology_;
    spec.cost = calibration_for(topology_);
    spec.collective = collective;
    spec.run.algorithm = algorithm;
    spec.gpus = first_gpus(topology_, 32);
    return spec;
  }
  static ExecutionResult run(const CallPlan& call, const Disturbance& disturbance, bool fold) {
    NativeFabric fabric;
    Execution execution = execution_of(call);
    execution.disturbance = &disturbance;
    execution.fold = fold;
    return execute(execution, fabric);
  }
  /// Classes of ranks, after a look at whether folding changes anything.
  static std::uint32_t classes(const CallPlan& call, const Disturbance& disturbance = {}) {
    const ExecutionResult folded = run(call, disturbance, true);
    const ExecutionResult whole = run(call, disturbance, false);
    EXPECT_NEAR(folded.time.value / whole.time.value, 1, 1e-9);
    EXPECT_EQ(folded.transfers, whole.transfers);
    EXPECT_EQ(whole.rank_classes, 32U);
    return folded.rank_classes;
  }

  Topology topology_;
};

TEST_F(FoldedNcclPlan, ends_as_if_nothing_were_folded) {
  std::uint32_t folded = 0;
  for (const char* const algorithm : {"ring", "tree", "nvlstree"}) {
    const Planner planner(spec(Collective::all_reduce, algorithm));
    for (const std::int64_t size : {1 << 13, 3 << 20, 1 << 23}) {
      SCOPED_TRACE(std::string(algorithm) + " " + std::to_string(size));
      const CallPlan call = planner.plan(Bytes{size});
      if (classes(call) < 32) ++folded;
      Disturbance slow;
      slow.speed.assign(32, 1);
      for (Rank rank = 3; rank < 32; rank += 8) slow.speed[rank] = 0.6;
      classes(call, slow);
      Disturbance narrow;
      narrow.changes = {{microseconds(30), {{5, 0.4 * call.wiring().capacities[5]}}}};
      classes(call, narrow);
    }
  }
  // Rings, but of 8 KiB, whose few messages are cheaper than to look for equals; NVLSTree of 8 KiB,
  // which has one chunk. The other NVLSTrees have uneven chunks in their last loop.
  EXPECT_EQ(folded, 3U);
}

TEST_F(FoldedNcclPlan, ends_so_for_other_collectives_too) {
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter,
                                      Collective::all_to_all, Collective::broadcast}) {
    const Planner planner(spec(collective, ""));
    for (const std::int64_t size : {1 << 16, 1 << 22}) {
      SCOPED_TRACE(std::string(to_string(collective)) + " " + std::to_string(size));
      classes(planner.plan(Bytes{size}));
    }
  }
}

}  // namespace
}  // namespace collsim
