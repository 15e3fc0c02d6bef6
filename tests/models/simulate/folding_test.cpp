// NCCL's plans on machines that are alike node by node end when they would have ended had every
// rank been simulated.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "models/calibration/calibration_choice.h"
#include "models/calibration/transport.h"
#include "models/call/prediction.h"
#include "models/call/rank_gpus.h"
#include "models/simulate/likely_seconds.h"
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
  static ExecutionResult run(const CompiledCall& call, const MachineEvents& events, bool fold) {
    NativeFabric fabric;
    Execution execution = execution_of(call);
    execution.events = &events;
    execution.fold = fold;
    return execute(execution, fabric);
  }
  /// Classes of ranks, after a look at whether folding changes anything.
  static std::uint32_t classes(const CompiledCall& call, const MachineEvents& events = {}) {
    const ExecutionResult folded = run(call, events, true);
    const ExecutionResult whole = run(call, events, false);
    EXPECT_NEAR(folded.time.value / whole.time.value, 1, 1e-9);
    EXPECT_EQ(folded.transfers, whole.transfers);
    EXPECT_EQ(whole.rank_classes, 32U);
    return folded.rank_classes;
  }

  Topology topology_;
};

// The guess looks for equals, and the simulation takes those that it found.
TEST_F(FoldedNcclPlan, takes_as_long_after_a_guess_of_its_cost) {
  for (const char* const algorithm : {"ring", "tree", "nvlstree"}) {
    const CallCompiler compiler(spec(Collective::all_reduce, algorithm));
    for (const std::int64_t size : {1 << 13, 1 << 26}) {
      SCOPED_TRACE(std::string(algorithm) + " " + std::to_string(size));
      const Prediction alone = simulate(compiler.plan(Bytes{size}));
      const CompiledCall call = compiler.plan(Bytes{size});
      for (const double enough : {1e-6, 1e-3, 1e-2, 0.1, 10.0}) {
        const bool is_longer = takes_longer(call, enough);
        EXPECT_EQ(is_longer, likely_seconds(compiler.plan(Bytes{size}), enough) > enough) << enough;
      }
      const Prediction later = simulate(call);
      EXPECT_EQ(later.time, alone.time);
      EXPECT_EQ(later.classes, alone.classes);
    }
  }
}

TEST_F(FoldedNcclPlan, ends_as_if_nothing_were_folded) {
  std::map<std::string, int> folded;
  for (const char* const algorithm : {"ring", "tree", "nvlstree"}) {
    const CallCompiler compiler(spec(Collective::all_reduce, algorithm));
    for (const std::int64_t size : {1 << 13, 3 << 20, 1 << 23}) {
      SCOPED_TRACE(std::string(algorithm) + " " + std::to_string(size));
      const CompiledCall call = compiler.plan(Bytes{size});
      if (classes(call) < 32) ++folded[algorithm];
      MachineEvents slow;
      slow.speed.assign(32, 1);
      for (Rank rank = 3; rank < 32; rank += 8) slow.speed[rank] = 0.6;
      classes(call, slow);
      MachineEvents narrow;
      narrow.changes = {{microseconds(30), {{5, 0.4 * call.wiring().capacities[5]}}}};
      classes(call, narrow);
    }
  }
  // In a ring all ranks are equal, and with NVLSTree the GPUs of a node, also in a last loop with
  // uneven chunks, of which each has its own. A tree is a chain in every node, and of the four
  // nodes each has another place in the two trees: no two ranks are equal.
  EXPECT_EQ(folded, (std::map<std::string, int>{{"ring", 3}, {"nvlstree", 3}}));
}

TEST_F(FoldedNcclPlan, ends_so_for_other_collectives_too) {
  for (const Collective collective : {Collective::all_gather, Collective::reduce_scatter,
                                      Collective::all_to_all, Collective::broadcast}) {
    const CallCompiler compiler(spec(collective, ""));
    for (const std::int64_t size : {1 << 16, 1 << 22}) {
      SCOPED_TRACE(std::string(to_string(collective)) + " " + std::to_string(size));
      classes(compiler.plan(Bytes{size}));
    }
  }
}

}  // namespace
}  // namespace collsim
