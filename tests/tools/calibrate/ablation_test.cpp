// What a constant earns: errors of rows held out without it, and how sure that is.

#include "tools/collsim/calibrate/ablation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/calibration/calibration_file.h"
#include "models/call/prediction.h"
#include "models/validation/recorded_call.h"
#include "sim/base/data_directory.h"
#include "sim/topologies/loader.h"
#include "tools/collsim/calibrate/fitted_calibration.h"

namespace collsim {
namespace {

TEST(Bootstrap, of_runs_that_rise_alike_is_sure) {
  const ErrorRise rise = bootstrap({{0.03, 3}, {0.05, 5}, {0.01, 1}});
  EXPECT_NEAR(rise.rise, 0.01, 1e-12);
  EXPECT_NEAR(rise.standard_error, 0, 1e-12);
}

// Means of n = 100 draws of runs of one row each, half of which rise by 2 points and half by none:
// mean 1 point, standard error 1 point / sqrt(100). 400 draws know that to about 4 %.
TEST(Bootstrap, of_many_runs_has_the_error_of_their_mean) {
  std::vector<RunRise> runs;
  for (int i = 0; i < 50; ++i) {
    runs.push_back({0.02, 1});
    runs.push_back({0, 1});
  }
  const ErrorRise rise = bootstrap(runs);
  EXPECT_NEAR(rise.rise, 0.01, 1e-12);
  EXPECT_NEAR(rise.standard_error, 0.001, 0.00015);
}

TEST(Ablation, stays_where_it_earns_enough_and_surely) {
  const auto stays = [](ErrorRise all, ErrorRise family) {
    return Ablation{{}, 0, all, ValidationFamily{}, family}.stays();
  };
  EXPECT_TRUE(stays({0.0021, 0.001}, {}));
  EXPECT_FALSE(stays({0.0019, 0.0001}, {}));
  EXPECT_FALSE(stays({0.0021, 0.0011}, {}));
  EXPECT_TRUE(stays({0, 0}, {0.011, 0.005}));
  EXPECT_FALSE(stays({0, 0}, {0.011, 0.006}));
  EXPECT_FALSE(stays({0, 0}, {0.009, 0.001}));
}

/// Rings of 2 to 4 GPUs with these costs, as if recorded.
Recording recorded(const Topology& topology, const Calibration& cost) {
  Recording recording;
  for (Rank ranks = 2; ranks <= 4; ++ranks) {
    for (const char* channels : {"1", "4", "16"}) {
      RecordedRow row;
      row.id = channels;
      row.collective = Collective::all_reduce;
      row.ranks = ranks;
      row.variables = {{"NCCL_ALGO", "Ring"},
                       {"NCCL_PROTO", "Simple"},
                       {"NCCL_NVLS_ENABLE", "0"},
                       {"NCCL_MIN_NCHANNELS", channels},
                       {"NCCL_MAX_NCHANNELS", channels}};
      const CallCompiler compiler(spec_of(call_of(row), topology, cost, default_nccl_version));
      for (row.size.count = 256; row.size.count <= 4 << 20; row.size.count *= 2) {
        row.time = simulate(compiler.plan(row.size)).mean_over_ranks;
        recording.rows.push_back(row);
      }
    }
  }
  return recording;
}

// The rows are of the model itself. Nothing replaces the step. Launch and setup are paid together,
// so launch takes the place of setup. No row shows what LL costs.
TEST(Ablation, finds_the_constant_that_nothing_replaces) {
  const TextFile file{"start.yaml",
                      "collsim: calibration/1\nname: start\nsource: a test\ndate: 2026-11-21\n"
                      "launch: 4 us\n"
                      "corrections: { direct_setup: 1 us }\n"
                      "protocols:\n"
                      "  simple: { setup: 3 us, step: 3 us, write: 50 GB/s }\n"
                      "  ll: { step: 1 us }\n"};
  const CalibrationText start(file);
  const Calibration cost = read_calibration(file);
  const Topology topology = load_topology(find_data_file("hgx-h200", "topologies"));
  FitRows rows(cost);
  FitSelection selection;
  selection.held_out.emplace_back("ranks=3");
  rows.add(
      recorded(topology, cost), [&](const RecordedRow&) -> const Topology& { return topology; },
      selection);
  CalibrationFitOptions options;
  options.names = {"launch", "simple.*"};
  options.sizes = 0;
  const CalibrationFit fit = fit_calibration(rows, start, cost, options);
  const auto ablations = ablate(rows, with_fitted(start, fit), fit, options);
  const auto find = [&](const std::string& name) {
    return std::find_if(ablations.begin(), ablations.end(),
                        [&](const Ablation& each) { return each.parameter.name == name; });
  };
  ASSERT_NE(find("simple.step"), ablations.end());
  EXPECT_GT(find("simple.step")->all.rise, 0.05);
  EXPECT_TRUE(find("simple.step")->stays());
  ASSERT_TRUE(find("simple.step")->family);
  EXPECT_EQ(find("simple.step")->family->ranks, 3U);
  ASSERT_NE(find("simple.setup"), ablations.end());
  EXPECT_LT(find("simple.setup")->all.rise, 0.002);
  EXPECT_FALSE(find("simple.setup")->stays());
  EXPECT_EQ(find("ll.step"), ablations.end());
}

}  // namespace
}  // namespace collsim
