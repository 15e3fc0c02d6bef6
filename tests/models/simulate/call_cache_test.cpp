// Calls that are alike are simulated once, whoever asks for them.

#include "models/simulate/call_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "models/calibration/transport.h"
#include "models/call/rank_gpus.h"
#include "models/predict/predictor.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"

namespace collsim {
namespace {

/// An all_reduce on the 8 GPUs of a DGX H100, under NCCL's variables.
class CallCacheTest : public testing::Test {
 protected:
  CallSpec spec_under(const std::map<std::string, std::string>& variables) const {
    CallSpec spec;
    spec.topology = &topology_;
    spec.cost = calibration_for(topology_);
    spec.gpus = first_gpus(topology_, 8);
    spec.run.variables = variables;
    return spec;
  }
  Prediction simulate(const std::map<std::string, std::string>& variables, Bytes size) {
    Method method = by_simulation();
    method.simulation.begin = [this](Bytes, double) { ++simulated_; };
    method.cache = &cache_;
    return Predictor(spec_under(variables), method).predict(size);
  }
  int simulated() const { return simulated_; }

 private:
  Topology topology_ = load_topology(find_data_file("dgx-h100", "topologies"));
  CallCache cache_;
  int simulated_ = 0;
};

TEST_F(CallCacheTest, are_not_simulated_again) {
  const Prediction first = simulate({}, Bytes{1 << 20});
  const Prediction again = simulate({{"NCCL_PAT_ENABLE", "0"}}, Bytes{1 << 20});
  EXPECT_EQ(simulated(), 1);
  EXPECT_EQ(again.time.value, first.time.value);
  EXPECT_EQ(again.mean_over_ranks.value, first.mean_over_ranks.value);
  EXPECT_EQ(again.transfers, first.transfers);
  EXPECT_EQ(again.extent, first.extent);
  EXPECT_EQ(again.algorithm, first.algorithm);
}

TEST_F(CallCacheTest, are_not_estimated_again) {
  const CallCompiler compiler(spec_under({}));
  int found = 0;
  const auto find = [&] {
    ++found;
    Prediction prediction = outline(compiler.plan(Bytes{1 << 20}));
    prediction.time = microseconds(7);
    return prediction;
  };
  CallCache cache;
  for (const Bytes size : {Bytes{1 << 20}, Bytes{1 << 20}, Bytes{1 << 21}}) {
    EXPECT_EQ(cache.estimate(compiler.plan(size), find).time.value, microseconds(7).value);
  }
  EXPECT_EQ(found, 2);
}

TEST_F(CallCacheTest, are_others_where_size_or_settings_change_what_runs) {
  const Prediction first = simulate({}, Bytes{1 << 20});
  simulate({}, Bytes{1 << 21});
  const Prediction tree = simulate({{"NCCL_ALGO", "Tree"}}, Bytes{1 << 20});
  const Prediction narrow =
      simulate({{"NCCL_ALGO", "Tree"}, {"NCCL_MAX_NCHANNELS", "1"}}, Bytes{1 << 20});
  EXPECT_EQ(simulated(), 4);
  EXPECT_GT(narrow.time.value, tree.time.value);
  EXPECT_NE(tree.time.value, first.time.value);
}

}  // namespace
}  // namespace collsim
